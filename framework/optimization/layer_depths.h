// How deep in a model each parameter lies, as far as names and their order tell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::optimization {

// The depth of each parameter, from 0, in the order in which the model registered them:
//  1. A name belongs to the block that its beginning names: up to and with the first of its parts, between dots, that
//  is
//     a number ("stages.2" of "stages.2.blocks.0.weight"); where none is, its first part ("head" of "head.weight").
//  2. Blocks are numbered by their first parameters, each one deeper than the block before it.
//  3. In a model where some name has a number, blocks without one that follow each other share a depth ("cls_token",
//     "pos_embed" and "patch_embed", or "norm" and "head"), which for vision transformers gives the layers of BEiT,
//     arXiv:2106.08254.
std::vector<int64_t> layer_depths(const std::vector<std::string>& names);

}  // namespace tenon::optimization
