#include <cstdlib>

#include "plugins/images/decode/headers.h"

namespace images {

ImageInfo read_bmp_header(Bytes file) {
  constexpr size_t kInfo = 14;      // after the file header
  constexpr uint32_t kOldest = 12;  // the header of OS/2, with 16-bit width and height
  const ByteReader bytes(file, std::endian::little);
  const uint32_t header = bytes.u32(kInfo);
  const bool is_oldest = header == kOldest;
  if (!is_oldest && header < 40) throw DamagedHeader("its header has the length " + std::to_string(header));
  // A negative height means that the first row is the top row.
  const int64_t width = is_oldest ? bytes.u16(kInfo + 4) : static_cast<int32_t>(bytes.u32(kInfo + 4));
  const int64_t height = is_oldest ? bytes.u16(kInfo + 6) : std::llabs(static_cast<int32_t>(bytes.u32(kInfo + 8)));
  const int bits_per_pixel = bytes.u16(is_oldest ? kInfo + 10 : kInfo + 14);
  const int channels = bits_per_pixel <= 8 ? 1 : bits_per_pixel == 32 ? 4 : 3;
  return {Format::bmp, make_size(width, height), channels, bits_per_pixel < 8 ? bits_per_pixel : 8, 1};
}

}  // namespace images
