// Weights from a safetensors file into a model.
#pragma once

#include <filesystem>
#include <vector>

#include "framework/plugins/model.h"

namespace tenon::pipeline {

// Copies every tensor of the file into the model's of the same name. Strict: throws Error(checkpoint) naming the file
// and every tensor that is missing, unexpected, or of another dtype or shape; the model is then unchanged.
void load_weights(const std::filesystem::path& file, const std::vector<plugins::NamedTensor>& tensors);

}  // namespace tenon::pipeline
