// The header of a file of NumPy's format, versions 1.0 to 3.0 (numpy.lib.format).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace datasets {

struct NpyHeader {
  int32_t dtype;  // TENON_FLOAT32, ...
  std::vector<int64_t> shape;
  uint64_t data_offset;  // where the elements begin: C-contiguous, little-endian, up to the file's end
};

bool is_npy(std::span<const uint8_t> file);

// Where the header ends, from the first 12 bytes. Throws tenon::DataError naming `path`: the file is no such one, or
// ends before its header does.
uint64_t npy_data_offset(std::span<const uint8_t> beginning, uint64_t size, const std::string& path);

// `beginning` is the file up to npy_data_offset() at least, `size` that of the whole. Throws tenon::DataError naming
// `path`: an array in Fortran order, of another byte order or of elements that no tensor has, or shorter or longer than
// its header says.
NpyHeader read_npy_header(std::span<const uint8_t> beginning, uint64_t size, const std::string& path);

}  // namespace datasets
