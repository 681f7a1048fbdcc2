// Reads numbers of either byte order, and never reads beyond the end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

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

}  // namespace images
