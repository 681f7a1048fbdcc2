// An array in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/regular_file.h"

namespace arrays {

inline constexpr size_t kMostDimensions = 64;  // of an array; the limit of the host for the fields of a sample

struct Array {
  std::string name;
  int32_t dtype;               // TENON_FLOAT32, ...
  std::vector<int64_t> shape;  // samples first
  uint64_t offset;             // of the elements in the file: C-contiguous, little-endian, perhaps not aligned
  uint64_t bytes;
  std::string place;  // location for messages: the file, and the array if a file holds several
  size_t file = 0;    // index of the file
};

// Returns the tensors of a safetensors file (github.com/huggingface/safetensors), sorted by name.
// Throws tenon::DataError naming the file and the tensor if the file violates the format: also if a name occurs twice,
// or the tensors overlap or leave bytes between or after them.
std::vector<Array> read_safetensors(const components::RegularFile& file);

}  // namespace arrays
