// Where everything lies in a safetensors file that is to be written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/safetensors.h"
#include "framework/artifacts/tensor_view.h"

namespace tenon::artifacts {

struct SafetensorsLayout {
  std::string head;                      // what comes before the data: the header behind its length
  std::vector<const TensorView*> order;  // in which the data follow, without gaps: by falling size of the elements
  uint64_t data_bytes = 0;               // all of them together
};

// Throws Error(internal) as write_safetensors() does. `file` is for messages; the tensors' data is not looked at.
SafetensorsLayout lay_out_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                                      const Metadata& metadata);

}  // namespace tenon::artifacts
