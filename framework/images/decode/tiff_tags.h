// Reads the first directory of tags of a TIFF file (TIFF 6.0, section 2). EXIF has the same format.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/images/decode/headers.h"

namespace images {

namespace tiff_tag {
constexpr uint16_t kSubfile = 254;  // bit 0: a smaller copy
constexpr uint16_t kWidth = 256;
constexpr uint16_t kHeight = 257;
constexpr uint16_t kBits = 258;
constexpr uint16_t kCompression = 259;
constexpr uint16_t kPhotometric = 262;
constexpr uint16_t kFillOrder = 266;
constexpr uint16_t kStripOffsets = 273;
constexpr uint16_t kOrientation = 274;
constexpr uint16_t kSamples = 277;
constexpr uint16_t kRowsPerStrip = 278;
constexpr uint16_t kStripByteCounts = 279;
constexpr uint16_t kPlanes = 284;
constexpr uint16_t kColourMap = 320;
constexpr uint16_t kTileWidth = 322;
constexpr uint16_t kTileHeight = 323;
constexpr uint16_t kTileOffsets = 324;
constexpr uint16_t kTileByteCounts = 325;
constexpr uint16_t kInkSet = 332;
constexpr uint16_t kExtraSamples = 338;
constexpr uint16_t kSampleFormat = 339;
constexpr uint16_t kJpegTables = 347;
constexpr uint16_t kSubsampling = 530;  // of the chroma, across and down
}  // namespace tiff_tag

// Values of the tag Compression.
namespace tiff_compression {
constexpr uint32_t kNone = 1;
constexpr uint32_t kLzw = 5;
constexpr uint32_t kJpeg = 7;
constexpr uint32_t kDeflate = 8;
constexpr uint32_t kOldDeflate = 32946;
constexpr uint32_t kPackBits = 32773;
}  // namespace tiff_compression

// Values of the tag PhotometricInterpretation.
namespace tiff_colours {
constexpr uint32_t kWhiteIsZero = 0;
constexpr uint32_t kBlackIsZero = 1;
constexpr uint32_t kRgb = 2;
constexpr uint32_t kPalette = 3;
constexpr uint32_t kInks = 5;
constexpr uint32_t kYCbCr = 6;
}  // namespace tiff_colours

class TiffTags {
 public:
  // Throws DamagedHeader.
  explicit TiffTags(std::span<const uint8_t> tiff);

  // Whether another page follows: a directory that is no smaller copy of the image.
  bool has_more_pages() const;

  // Returns the first number of a tag, or no value if the tag is missing or has no whole numbers. Throws DamagedHeader.
  std::optional<uint32_t> find(uint16_t tag) const;
  uint32_t get(uint16_t tag, uint32_t otherwise) const { return find(tag).value_or(otherwise); }

  // Returns 1 to 8, or 1 if there is no valid one. Throws DamagedHeader.
  int orientation() const;

  // Returns the position of a tag's first number in the file, or no value as find() does.
  std::optional<size_t> position(uint16_t tag) const;

  // Returns all numbers of a tag.
  std::vector<uint32_t> all(uint16_t tag) const;

  // Returns the bytes of a tag, or none if it is missing or has no bytes.
  std::span<const uint8_t> bytes(uint16_t tag) const;

 private:
  TiffTags(const ByteReader& bytes, size_t directory) : bytes_(bytes), directory_(directory) {}

  struct Entry {
    uint16_t type;
    uint32_t count;
    size_t values;
  };
  std::optional<Entry> entry(uint16_t tag) const;
  uint32_t value(const Entry& entry, size_t index) const;

  ByteReader bytes_;
  size_t directory_;
};

// Returns 1 to 8, or 1 if the block is damaged or has no orientation. `exif` begins with its byte order, "II" or "MM".
int read_exif_orientation(std::span<const uint8_t> exif);

}  // namespace images
