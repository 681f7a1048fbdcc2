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
  std::string place;           // for messages: the file, and the array where a file holds several
};

// The tensors of a file of the format of github.com/huggingface/safetensors, in the order of their names. Throws
// tenon::DataError naming `path` and the tensor where the file contradicts the format.
std::vector<Array> read_safetensors(Bytes file, const std::string& path);

}  // namespace arrays
