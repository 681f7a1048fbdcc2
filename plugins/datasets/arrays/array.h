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

// Bytes of an element. REQUIRES: one of the dtypes that the two formats below give.
size_t size_of_element(int32_t dtype);

// A file of NumPy's format, versions 1.0 to 3.0 (numpy.lib.format); `name` is the array's. Throws tenon::DataError
// naming `path`: no such file, an array in Fortran order, of another byte order or of elements that no tensor has, or
// shorter or longer than its header says.
Array read_npy(Bytes file, const std::string& path, const std::string& name);
bool is_npy(Bytes file);

// The tensors of a file of the format of github.com/huggingface/safetensors, in the order of their names. Throws
// tenon::DataError naming `path` and the tensor where the file contradicts the format.
std::vector<Array> read_safetensors(Bytes file, const std::string& path);

}  // namespace arrays
