// The layout of a safetensors file to write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::artifacts {

struct SafetensorsLayout {
  std::string head;                      // the bytes before the data: the length of the header and the header
  std::vector<const TensorView*> order;  // order of the data, without gaps: descending element size
  uint64_t data_bytes = 0;               // of all tensors
};

// Throws Error(internal) as write_safetensors() does. `file` is for messages. Does not read the data of the tensors.
SafetensorsLayout lay_out_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                                      const Metadata& metadata);

}  // namespace tenon::artifacts
