#include <cstdlib>

#include "plugins/images/decode/headers.h"

namespace images {
namespace {

constexpr size_t kOffset = 10;    // of the pixels
constexpr size_t kInfo = 14;      // after the file header
constexpr uint32_t kOldest = 12;  // the header of OS/2, with 16-bit width and height
constexpr uint32_t kBitFields = 3;

}  // namespace

ImageInfo read_bmp_header(Bytes file) {
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

void check_bmp_data(Bytes file, const ImageInfo& info) {
  const ByteReader bytes(file, std::endian::little);
  const bool is_oldest = bytes.u32(kInfo) == kOldest;
  const uint64_t bits_per_pixel = bytes.u16(is_oldest ? kInfo + 10 : kInfo + 14);
  const uint32_t compression = is_oldest ? 0 : bytes.u32(kInfo + 16);
  if (compression > kBitFields)
    throw DamagedHeader("is damaged: its header gives the compression " + std::to_string(compression) +
                        "; expected at most " + std::to_string(kBitFields) + "; fetch the file again or convert it");
  if (bits_per_pixel <= 8) {
    const uint64_t colours = is_oldest ? 0 : bytes.u32(kInfo + 32);
    if (colours > 256)
      throw DamagedHeader("is damaged: its palette has " + std::to_string(colours) +
                          " colours; expected at most 256; fetch the file again or remove it");
    const uint64_t entries = colours == 0 ? uint64_t{1} << bits_per_pixel : colours;
    check_data(bytes, kInfo + uint64_t{bytes.u32(kInfo)}, entries * (is_oldest ? 3 : 4));
  }
  const bool is_run_length_coded = compression == 1 || compression == 2;
  if (is_run_length_coded) return;  // the decoder finds the end of such data
  const uint64_t row = (static_cast<uint64_t>(info.size.width) * bits_per_pixel + 31) / 32 * 4;
  check_data(bytes, bytes.u32(kOffset), row * static_cast<uint64_t>(info.size.height));
}

}  // namespace images
