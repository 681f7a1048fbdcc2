// A model's weights as a safetensors file for Python.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "framework/plugins/model.h"

namespace tenon::pipeline {

// Writes every tensor, in order, and returns how many. `dtype`: what floating tensors become; Undefined: as they are.
// A tensor with several names is written once, under the first of them in the alphabet, and the metadata has an entry
// `other name` -> `name`: as safetensors.torch.save_model writes and load_model reads them.
// Throws Error(configuration) if the file cannot be written, and naming the tensor if a finite number of it would
// become infinite in `dtype`.
size_t save_weights(const std::filesystem::path& file, const std::vector<plugins::NamedTensor>& tensors,
                    at::ScalarType dtype);

}  // namespace tenon::pipeline
