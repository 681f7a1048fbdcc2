// Readers of the headers of image files, and checks of their data. They throw DamagedHeader with a text that follows
// "PATH: ".
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "framework/images/decode/image_info.h"

namespace images {

// The file's contents lie beyond its end, or are invalid. The caller that knows the file's path reports the error.
class DamagedHeader : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ByteReader {
 public:
  ByteReader(std::span<const uint8_t> bytes, std::endian order) : bytes_(bytes), order_(order) {}

  size_t size() const { return bytes_.size(); }
  uint8_t u8(size_t at) const { return static_cast<uint8_t>(number(at, 1)); }
  uint16_t u16(size_t at) const { return static_cast<uint16_t>(number(at, 2)); }
  uint32_t u24(size_t at) const { return number(at, 3); }
  uint32_t u32(size_t at) const { return number(at, 4); }

  // Throws DamagedHeader if the part extends beyond the end. The numbers above do the same.
  std::span<const uint8_t> part(size_t at, size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) throw DamagedHeader("it ends within its header");
    return bytes_.subspan(at, count);
  }

 private:
  uint32_t number(size_t at, size_t count) const {
    const std::span<const uint8_t> digits = part(at, count);
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | digits[order_ == std::endian::big ? i : count - 1 - i];
    return value;
  }

  std::span<const uint8_t> bytes_;
  std::endian order_;
};

// Returns the format that the first bytes name.
std::optional<Format> find_format(Bytes file);

// Detects truncated image files. Decoders accept a truncated JPEG and fill the rest with grey. A model would be trained
// on it without any error.
enum class Completeness { complete, truncated, unknown_format };

// JPEG: walks the segments (ITU-T T.81, annex B) to the end-of-image marker. PNG: walks the chunks (ISO/IEC 15948) to
// IEND. WebP: checks the length at its beginning. Data after the end are allowed, because cameras append them. Other
// formats: unknown. read_tiff_header checks a TIFF's list of parts, and the other decoders detect truncation.
Completeness check_completeness(std::span<const uint8_t> file);

// Header readers, one function per format. They return the size as stored, before the orientation is applied.
ImageInfo read_jpeg_header(Bytes file);
ImageInfo read_png_header(Bytes file);
ImageInfo read_webp_header(Bytes file);
ImageInfo read_tiff_header(Bytes file, const Limits& limits);
ImageInfo read_bmp_header(Bytes file);
ImageInfo read_pnm_header(Bytes file);

// Check that the data after the header are complete. REQUIRES: the function above has accepted the file.
void check_bmp_data(Bytes file, const ImageInfo& info);
void check_pnm_data(Bytes file);

// Throws DamagedHeader if the file ends before `count` bytes from `at` on.
void check_data(const ByteReader& bytes, uint64_t at, uint64_t count);

// Throws DamagedHeader unless both sides are positive and fit a cv::Size.
cv::Size make_size(int64_t width, int64_t height);

// Finds the markers of a JPEG (ITU-T T.81, annex B).
namespace jpeg {
constexpr uint8_t kEndOfImage = 0xD9;
constexpr uint8_t kStartOfScan = 0xDA;
constexpr uint8_t kApp1 = 0xE1;

// Start of frame is SOF0 to SOF15, except C4, C8 and CC, which are other markers.
constexpr bool is_start_of_frame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}
}  // namespace jpeg

// Returns the position of the next marker code at or after `at`, which is the byte after its 0xFF, or the size of the
// file if there is none. Skips all other bytes before it, like libjpeg.
size_t find_marker(std::span<const uint8_t> file, size_t at);

// Checks the pixel data of a TIFF file, because libtiff fills the parts that it cannot decode with black, and OpenCV
// reports success. Compares the size of every strip or tile after decompression with the size that the header gives
// (TIFF 6.0, sections 9, 13 and 21), and decodes JPEG as the decoder will (TIFF Technical Note 2). Throws
// DamagedHeader. REQUIRES: read_tiff_header() has accepted the file.
void check_tiff_data(Bytes file);

// OpenCV multiplies the colours by the alpha channel. Returns a copy of the file in `copy`, with a header that says
// that they are multiplied already, or the file itself if it has no such channel.
Bytes without_alpha(Bytes file, std::vector<uint8_t>& copy);

}  // namespace images
