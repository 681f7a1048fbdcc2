// The tensors of a file and the file's digest, in one pass over its bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "framework/artifacts/tensor_view.h"

namespace tenon::artifacts {

// Reads each tensor to where `place` says, which is called once for each and gives memory for its bytes, and returns
// the XXH128 of the whole file. Throws Error(checkpoint) as SafetensorsFile does, or if the file cannot be read.
std::string copy_safetensors(const std::filesystem::path& file,
                             const std::function<std::byte*(const TensorView& tensor)>& place);

}  // namespace tenon::artifacts
