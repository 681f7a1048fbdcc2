// Reads the first directory of tags of a TIFF file (TIFF 6.0, section 2). EXIF has the same format.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/images/decode/byte_reader.h"

namespace images {

class TiffTags {
 public:
  // Throws DamagedHeader.
  explicit TiffTags(std::span<const uint8_t> tiff);

  // Returns the first number of a tag, or no value if the tag is missing or has no whole numbers. Throws DamagedHeader.
  std::optional<uint32_t> find(uint16_t tag) const;
  uint32_t get(uint16_t tag, uint32_t otherwise) const { return find(tag).value_or(otherwise); }

  // Returns all numbers of a tag.
  std::vector<uint32_t> all(uint16_t tag) const;

 private:
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
