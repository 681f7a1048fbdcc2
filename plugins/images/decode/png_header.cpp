#include <cstring>

#include "plugins/images/decode/headers.h"
#include "plugins/images/decode/tiff_tags.h"

namespace images {
namespace {

constexpr size_t kSignature = 8;
constexpr size_t kAroundData = 12;  // length, type, checksum

int channels_of(uint8_t colour_type) {
  switch (colour_type) {
    case 0:            // grey
    case 3: return 1;  // palette
    case 2: return 3;  // colour
    case 4: return 2;  // grey with alpha
    case 6: return 4;  // colour with alpha
    default: throw DamagedHeader("its header gives the colour type " + std::to_string(colour_type));
  }
}

// Returns the content of the first chunk of this type, or none. eXIf may come before or after the pixels.
Bytes find_chunk(const ByteReader& bytes, const char* type) {
  for (size_t at = kSignature; at + kAroundData <= bytes.size();) {
    const size_t length = bytes.u32(at);
    if (length > bytes.size() - at - kAroundData) break;
    if (std::memcmp(bytes.part(at + 4, 4).data(), type, 4) == 0) return bytes.part(at + 8, length);
    at += kAroundData + length;
  }
  return {};
}

int find_png_orientation(const ByteReader& bytes) {
  const Bytes exif = find_chunk(bytes, "eXIf");
  return exif.empty() ? 1 : read_exif_orientation(exif);
}

}  // namespace

ImageInfo read_png_header(Bytes file) {
  const ByteReader bytes(file, std::endian::big);
  if (bytes.u32(kSignature) != 13 || std::memcmp(bytes.part(kSignature + 4, 4).data(), "IHDR", 4) != 0) {
    throw DamagedHeader("its first chunk is not a header");
  }
  const int bits = bytes.u8(24);
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16) {
    throw DamagedHeader("its header gives " + std::to_string(bits) + " bits");
  }
  const cv::Size size = make_size(bytes.u32(16), bytes.u32(20));
  const int channels = channels_of(bytes.u8(25));
  const bool has_alpha = channels == 2 || channels == 4 || !find_chunk(bytes, "tRNS").empty();
  const Bytes animation = find_chunk(bytes, "acTL");  // begins with the number of frames
  const bool has_more_frames = animation.size() >= 4 && ByteReader(animation, std::endian::big).u32(0) > 1;
  return {Format::png, size, channels, bits, find_png_orientation(bytes), has_alpha, has_more_frames};
}

}  // namespace images
