// Reads headers of NumPy files, versions 1.0 to 3.0 (numpy.lib.format).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace datasets {

struct NpyHeader {
  int32_t dtype;  // TENON_FLOAT32, ...
  std::vector<int64_t> shape;
  uint64_t data_offset;  // offset of the elements: C-contiguous, little-endian, up to the file's end
};

constexpr uint64_t kNpyStart = 12;  // bytes that npy_data_offset() needs

bool is_npy(std::span<const uint8_t> beginning);

// Returns the offset of the header's end, from the first kNpyStart bytes. Throws tenon::DataError naming `path` if the
// file has another format or version, ends within its header, or has a header of more than 64 KiB.
uint64_t npy_data_offset(std::span<const uint8_t> beginning, uint64_t size, const std::string& path);

// `beginning` has the file's bytes at least up to npy_data_offset(), and `size` is the size of the file. Throws
// tenon::DataError naming `path`: Fortran order, another byte order, an element type that tensors do not have, or a
// size that contradicts the header.
NpyHeader read_npy_header(std::span<const uint8_t> beginning, uint64_t size, const std::string& path);

}  // namespace datasets
