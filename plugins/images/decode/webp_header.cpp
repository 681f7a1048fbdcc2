#include <cstring>

#include "plugins/images/decode/headers.h"
#include "plugins/images/decode/tiff_tags.h"

// https://developers.google.com/speed/webp/docs/riff_container, RFC 6386 (VP8) and the lossless format.
namespace images {
namespace {

constexpr size_t kFirstChunk = 12;
constexpr size_t kContent = 20;  // offset of the first chunk's content

bool is_chunk(const ByteReader& bytes, size_t at, const char* name) {
  return std::memcmp(bytes.part(at, 4).data(), name, 4) == 0;
}

int find_webp_orientation(const ByteReader& bytes) {
  for (size_t at = kFirstChunk; at + 8 <= bytes.size();) {
    const size_t length = bytes.u32(at + 4);
    if (length > bytes.size() - at - 8) break;
    if (is_chunk(bytes, at, "EXIF")) {
      Bytes exif = bytes.part(at + 8, length);
      if (exif.size() > 6 && std::memcmp(exif.data(), "Exif\0", 6) == 0) exif = exif.subspan(6);
      return read_exif_orientation(exif);
    }
    at += 8 + length + length % 2;
  }
  return 1;
}

ImageInfo read_extended(const ByteReader& bytes) {
  constexpr uint8_t kAnimation = 0x02;
  constexpr uint8_t kExif = 0x08;
  constexpr uint8_t kAlpha = 0x10;
  const uint8_t flags = bytes.u8(kContent);
  if (flags & kAnimation) throw DamagedHeader("is an animated WebP; expected a single image; convert it");
  const cv::Size size = make_size(int64_t{bytes.u24(kContent + 4)} + 1, int64_t{bytes.u24(kContent + 7)} + 1);
  const bool has_alpha = flags & kAlpha;
  return {Format::webp, size, has_alpha ? 4 : 3, 8, flags & kExif ? find_webp_orientation(bytes) : 1, has_alpha};
}

}  // namespace

ImageInfo read_webp_header(Bytes file) {
  const ByteReader bytes(file, std::endian::little);
  if (is_chunk(bytes, kFirstChunk, "VP8X")) return read_extended(bytes);
  if (is_chunk(bytes, kFirstChunk, "VP8L") && bytes.u8(kContent) == 0x2F) {
    const uint32_t fields = bytes.u32(kContent + 1);  // 14 bits of width - 1, 14 of height - 1, whether alpha is used
    const cv::Size size = make_size((fields & 0x3FFF) + 1, (fields >> 14 & 0x3FFF) + 1);
    const bool has_alpha = fields >> 28 & 1;
    return {Format::webp, size, has_alpha ? 4 : 3, 8, 1, has_alpha};
  }
  if (is_chunk(bytes, kFirstChunk, "VP8 ") && bytes.u24(kContent + 3) == 0x2A019D) {
    return {Format::webp, make_size(bytes.u16(kContent + 6) & 0x3FFF, bytes.u16(kContent + 8) & 0x3FFF), 3, 8, 1};
  }
  throw DamagedHeader("its header is not a WebP header");
}

}  // namespace images
