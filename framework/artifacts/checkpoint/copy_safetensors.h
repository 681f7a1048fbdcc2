// Copies the tensors of a file and computes the digest of the file in one pass.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::artifacts {

// Calls `place` once for each tensor, copies the tensor to the returned memory, and returns the XXH128 of the whole
// file. Throws Error(checkpoint) as SafetensorsFile does, or if the file cannot be read.
std::string copy_safetensors(const std::filesystem::path& file,
                             const std::function<std::byte*(const TensorView& tensor)>& place);

}  // namespace tenon::artifacts
