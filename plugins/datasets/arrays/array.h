// An array in a mapped file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace arrays {

using Bytes = std::span<const uint8_t>;

struct Array {
  std::string name;
  int32_t dtype;               // TENON_FLOAT32, ...
  std::vector<int64_t> shape;  // samples first
  Bytes bytes;                 // C-contiguous, little-endian, perhaps not aligned
  std::string place;           // location for messages: the file, and the array if a file holds several
};

// Returns the tensors of a safetensors file (github.com/huggingface/safetensors), sorted by name.
// Throws tenon::DataError naming `path` and the tensor if the file violates the format.
std::vector<Array> read_safetensors(Bytes file, const std::string& path);

}  // namespace arrays
