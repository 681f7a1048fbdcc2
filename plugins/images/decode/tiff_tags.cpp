#include "plugins/images/decode/tiff_tags.h"

namespace images {
namespace {

constexpr uint16_t kByte = 1;
constexpr uint16_t kShort = 3;
constexpr uint16_t kLong = 4;
constexpr uint16_t kUndefined = 7;  // bytes

bool is_known(uint16_t type) { return type == kByte || type == kShort || type == kLong || type == kUndefined; }

size_t bytes_of(uint16_t type) { return type == kShort ? 2 : type == kLong ? 4 : 1; }

std::endian byte_order(std::span<const uint8_t> tiff) {
  if (tiff.size() >= 2 && tiff[0] == 'I' && tiff[1] == 'I') return std::endian::little;
  if (tiff.size() >= 2 && tiff[0] == 'M' && tiff[1] == 'M') return std::endian::big;
  throw DamagedHeader("its byte order is neither II nor MM");
}

}  // namespace

TiffTags::TiffTags(std::span<const uint8_t> tiff) : bytes_(tiff, byte_order(tiff)), directory_(bytes_.u32(4)) {}

// Readers of the first page ignore damage after it.
bool TiffTags::has_more_pages() const try {
  const size_t next = bytes_.u32(directory_ + 2 + bytes_.u16(directory_) * size_t{12});
  return next != 0 && next != directory_ && TiffTags(bytes_, next).find(tiff_tag::kWidth) &&
         (TiffTags(bytes_, next).get(tiff_tag::kSubfile, 0) & 1) == 0;
} catch (const DamagedHeader&) {
  return false;
}

std::optional<TiffTags::Entry> TiffTags::entry(uint16_t tag) const {
  constexpr size_t kEntry = 12;  // tag, type, count, and the value or the offset of the values
  const size_t count = bytes_.u16(directory_);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = directory_ + 2 + i * kEntry;
    if (bytes_.u16(at) != tag) continue;
    Entry found = {bytes_.u16(at + 2), bytes_.u32(at + 4), at + 8};
    if (!is_known(found.type) || found.count == 0) return std::nullopt;
    if (found.count > 4 / bytes_of(found.type)) found.values = bytes_.u32(at + 8);
    return found;
  }
  return std::nullopt;
}

uint32_t TiffTags::value(const Entry& entry, size_t index) const {
  const size_t at = entry.values + index * bytes_of(entry.type);
  return entry.type == kShort ? bytes_.u16(at) : entry.type == kLong ? bytes_.u32(at) : bytes_.u8(at);
}

std::optional<uint32_t> TiffTags::find(uint16_t tag) const {
  const std::optional<Entry> found = entry(tag);
  return found ? std::optional(value(*found, 0)) : std::nullopt;
}

std::optional<size_t> TiffTags::position(uint16_t tag) const {
  const std::optional<Entry> found = entry(tag);
  return found ? std::optional(found->values) : std::nullopt;
}

std::vector<uint32_t> TiffTags::all(uint16_t tag) const {
  const std::optional<Entry> found = entry(tag);
  if (!found) return {};
  bytes_.part(found->values, found->count * bytes_of(found->type));  // checks the range before memory is allocated
  std::vector<uint32_t> values(found->count);
  for (size_t i = 0; i < values.size(); ++i) values[i] = value(*found, i);
  return values;
}

std::span<const uint8_t> TiffTags::bytes(uint16_t tag) const {
  const std::optional<Entry> found = entry(tag);
  if (!found || bytes_of(found->type) != 1) return {};
  return bytes_.part(found->values, found->count);
}

int read_exif_orientation(std::span<const uint8_t> exif) {
  try {
    const uint32_t orientation = TiffTags(exif).get(tiff_tag::kOrientation, 1);
    return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1;
  } catch (const DamagedHeader&) {
    return 1;
  }
}

}  // namespace images
