// Saves a model's weights as a safetensors file for Python.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "framework/components/kinds/model.h"
#include "framework/config/values/class_names.h"

namespace tenon::pipeline {

// Writes every tensor, in order, and returns their number. `dtype`: the dtype for floating-point tensors; Undefined:
// unchanged. A tensor with several names is written once, under the first name in alphabetical order. The metadata maps
// each other name to it, as safetensors.torch.save_model and load_model do. `class_names`: see
// artifacts::make_weights_metadata. `more`: further entries of the metadata, by name.
// Throws Error(configuration) if the file cannot be written, and naming the tensor if a finite value would become
// infinite in `dtype`.
size_t save_weights(const std::filesystem::path& file, const std::vector<components::NamedTensor>& tensors,
                    at::ScalarType dtype, const config::ClassNames& class_names = {},
                    const std::map<std::string, std::string>& more = {});

}  // namespace tenon::pipeline
