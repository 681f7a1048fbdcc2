// Arrays of .npy and safetensors files that have the same number of rows. The files are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/formats/regular_file.h"

namespace arrays {

struct Array {
  std::string name;
  int32_t dtype;               // TENON_FLOAT32, ...
  std::vector<int64_t> shape;  // samples first
  uint64_t offset;             // of the elements in the file: C-contiguous, little-endian, perhaps not aligned
  uint64_t bytes;
  std::string place;  // location for messages: the file, and the array if a file holds several
  size_t file = 0;    // index of the file
};

class ArrayFiles {
 public:
  // `path` is a safetensors file, a .npy file or a folder of .npy files. `names` selects arrays, in this order; empty:
  // all. Throws tenon::DataError naming the file if it cannot be read, or if its arrays cannot be the fields of
  // samples: they have the same number of rows, at least 1, and no extent is 0.
  ArrayFiles(const std::string& path, const std::vector<std::string>& names);

  const std::vector<Array>& arrays() const { return arrays_; }
  int64_t rows() const { return arrays_.front().shape.front(); }
  uint64_t row_bytes(size_t array) const { return arrays_[array].bytes / static_cast<uint64_t>(rows()); }

  // Writes row_bytes(array) bytes. Any thread may call it. Throws tenon::DataError if the file was shortened.
  void read_row(size_t array, int64_t row, uint8_t* bytes) const;

  // Hashes arrays of up to 16 MiB as a whole, and three pieces of each larger one.
  uint64_t hash() const;

 private:
  std::vector<formats::RegularFile> files_;
  std::vector<Array> arrays_;
  std::vector<std::vector<uint8_t>> elements_;  // of the arrays that stay in memory; empty for the others
};

}  // namespace arrays
