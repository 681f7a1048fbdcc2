// Derives the layer depth of each parameter from the parameter names and their order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::optimization {

// The depth of each parameter, from 0, in the order in which the model registered them:
//  1. A parameter belongs to a block. The block's name is the start of the parameter's name up to and including the
//     first part that is a number ("stages.2" of "stages.2.blocks.0.weight"). Without a number it is the first part
//     ("head" of "head.weight").
//  2. Blocks are numbered by their first parameters, each one deeper than the block before it.
//  3. If any name in the model has a number, consecutive blocks without one share a depth ("cls_token", "pos_embed" and
//     "patch_embed", or "norm" and "head"). For vision transformers this gives the layers of BEiT, arXiv:2106.08254.
std::vector<int64_t> layer_depths(const std::vector<std::string>& names);

}  // namespace tenon::optimization
