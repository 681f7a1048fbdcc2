#include <cstring>

#include "plugins/images/decode/headers.h"
#include "plugins/images/decode/jpeg_markers.h"
#include "plugins/images/decode/tiff_tags.h"

namespace images {
namespace {

// `segment` is the content after the length.
void read_frame(Bytes segment, uint8_t marker, ImageInfo& info) {
  // SOF0 to SOF2 and their arithmetic-coded variants are supported. The others are lossless or hierarchical.
  if (marker != 0xC0 && marker != 0xC1 && marker != 0xC2 && marker != 0xC9 && marker != 0xCA) {
    throw DamagedHeader("is a lossless or hierarchical JPEG; expected a sequential or progressive one; convert it");
  }
  const ByteReader frame(segment, std::endian::big);
  info.bits = frame.u8(0);
  info.channels = frame.u8(5);
  info.size = make_size(frame.u16(3), frame.u16(1));
  if (info.bits != 8) {
    throw DamagedHeader("is a JPEG of " + std::to_string(info.bits) + " bits; expected 8; convert it");
  }
  if (info.channels != 1 && info.channels != 3 && info.channels != 4) {
    throw DamagedHeader("is a JPEG of " + std::to_string(info.channels) +
                        " components; expected 1, 3 or 4; convert it");
  }
}

bool is_exif(Bytes segment) { return segment.size() > 6 && std::memcmp(segment.data(), "Exif\0", 6) == 0; }

}  // namespace

ImageInfo read_jpeg_header(Bytes file) {
  const ByteReader bytes(file, std::endian::big);
  ImageInfo info = {Format::jpeg, {}, 0, 0, 1};
  bool has_exif = false;
  for (size_t at = find_marker(file, 2); at < file.size();) {
    const uint8_t marker = file[at];
    if (marker == jpeg::kStartOfScan || marker == jpeg::kEndOfImage) break;
    const size_t length = bytes.u16(at + 1);  // includes its two bytes
    if (length < 2) throw DamagedHeader("a segment of its header has the length " + std::to_string(length));
    const Bytes segment = bytes.part(at + 3, length - 2);
    if (jpeg::is_start_of_frame(marker)) read_frame(segment, marker, info);
    if (marker == jpeg::kApp1 && !has_exif && is_exif(segment)) {
      info.orientation = read_exif_orientation(segment.subspan(6));
      has_exif = true;
    }
    at = find_marker(file, at + 1 + length);
  }
  if (info.channels == 0) throw DamagedHeader("its header gives no size");
  return info;
}

}  // namespace images
