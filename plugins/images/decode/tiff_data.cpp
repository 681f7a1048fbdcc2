#include "plugins/images/decode/tiff_data.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>

#include "plugins/images/decode/tiff_tags.h"

namespace images {
namespace {

// Values of the tag Compression.
constexpr uint32_t kNone = 1;
constexpr uint32_t kLzw = 5;
constexpr uint32_t kDeflate = 8;
constexpr uint32_t kOldDeflate = 32946;
constexpr uint32_t kPackBits = 32773;

constexpr uint32_t kYCbCr = 6;  // photometric interpretation; its chroma may be subsampled

[[noreturn]] void refuse(const std::string& what) {
  throw DamagedHeader("is damaged: " + what + "; fetch the file again or remove it");
}

// Each function returns the number of bytes after decompression, or no value if the data are invalid. It stops once the
// number exceeds `most`.
std::optional<uint64_t> count_deflate(Bytes data, uint64_t most) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  std::array<uint8_t, 1 << 14> output;
  stream.next_in = const_cast<Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  uint64_t count = 0;
  int result = Z_OK;
  do {
    stream.next_out = output.data();
    stream.avail_out = static_cast<uInt>(output.size());
    result = inflate(&stream, Z_NO_FLUSH);
    count += output.size() - stream.avail_out;
  } while (result == Z_OK && count <= most);
  inflateEnd(&stream);
  // The end of the stream has a checksum.
  return result == Z_STREAM_END || count > most ? std::optional(count) : std::nullopt;
}

std::optional<uint64_t> count_pack_bits(Bytes data, uint64_t most) {
  uint64_t count = 0;
  for (size_t at = 0; at < data.size() && count <= most;) {
    const int header = static_cast<int8_t>(data[at++]);
    if (header == -128) continue;
    const size_t stored = header >= 0 ? static_cast<size_t>(header) + 1 : 1;
    if (stored > data.size() - at) return std::nullopt;
    at += stored;
    count += header >= 0 ? stored : static_cast<size_t>(1 - header);
  }
  return count;
}

// Only the lengths of the table's strings matter.
std::optional<uint64_t> count_lzw(Bytes data, uint64_t most) {
  constexpr uint32_t kClear = 256, kEnd = 257, kCodes = 4096;
  std::array<uint32_t, kCodes> lengths;
  lengths.fill(1);
  uint32_t next = kEnd + 1, bits = 9;
  std::optional<uint32_t> before;
  uint64_t count = 0;
  uint32_t window = 0, held = 0;  // bits that were read from the data and not yet used
  for (size_t at = 0; count <= most;) {
    for (; held < bits && at < data.size(); held += 8) window = window << 8 | data[at++];
    if (held < bits) break;
    held -= bits;
    const uint32_t code = window >> held & ((1u << bits) - 1);
    if (code == kEnd) break;
    if (code == kClear) {
      next = kEnd + 1;
      bits = 9;
      before.reset();
      continue;
    }
    if (before && next < kCodes) lengths[next++] = lengths[*before] + 1;
    if (code >= (before ? next : kClear)) return std::nullopt;
    count += lengths[code];
    before = code;
    // The codes become longer one code early.
    if (next == (1u << bits) - 1 && bits < 12) ++bits;
  }
  return count;
}

// Versions of LZW from before TIFF 6.0 store the bits of a code in the reverse order.
bool is_old_lzw(Bytes data) { return data.size() >= 2 && data[0] == 0 && (data[1] & 1) != 0; }

std::optional<uint64_t> count_bytes(uint32_t compression, Bytes data, uint64_t most) {
  switch (compression) {
    case kNone: return data.size();
    case kLzw: return count_lzw(data, most);
    case kPackBits: return count_pack_bits(data, most);
    default: return count_deflate(data, most);
  }
}

// The strips or tiles of a file.
struct Parts {
  const char* name;
  uint64_t row_bytes;  // of one part
  uint64_t rows;       // of one part, except for the last one
  uint64_t last_rows;  // of the last part of a plane; a tile is filled up
  uint64_t per_plane;
  uint64_t count;  // in all planes
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> sizes;
};

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

Parts find_parts(const TiffTags& tags) {
  const uint64_t width = tags.get(tiff_tag::kWidth, 0), height = tags.get(tiff_tag::kHeight, 0);
  const uint64_t samples = tags.get(tiff_tag::kSamples, 1);
  const uint64_t planes = tags.get(tiff_tag::kPlanes, 1) == 2 ? samples : 1;
  const uint64_t pixel_bits = uint64_t{tags.get(tiff_tag::kBits, 1)} * samples / planes;
  if (tags.find(tiff_tag::kTileOffsets)) {
    const uint64_t across = std::max(tags.get(tiff_tag::kTileWidth, 0), 1u);
    const uint64_t down = std::max(tags.get(tiff_tag::kTileHeight, 0), 1u);
    const uint64_t per_plane = divide_up(width, across) * divide_up(height, down);
    return {"tile",
            divide_up(across * pixel_bits, 8),
            down,
            down,
            per_plane,
            per_plane * planes,
            tags.all(tiff_tag::kTileOffsets),
            tags.all(tiff_tag::kTileByteCounts)};
  }
  const uint64_t rows = std::clamp<uint64_t>(tags.get(tiff_tag::kRowsPerStrip, UINT32_MAX), 1, height);
  const uint64_t per_plane = divide_up(height, rows);
  return {"strip",
          divide_up(width * pixel_bits, 8),
          rows,
          height - (per_plane - 1) * rows,
          per_plane,
          per_plane * planes,
          tags.all(tiff_tag::kStripOffsets),
          tags.all(tiff_tag::kStripByteCounts)};
}

}  // namespace

void check_tiff_data(Bytes file) {
  const TiffTags tags(file);
  const uint32_t compression = tags.get(tiff_tag::kCompression, kNone);
  const bool is_known = compression == kNone || compression == kLzw || compression == kDeflate ||
                        compression == kOldDeflate || compression == kPackBits;
  if (!is_known || tags.get(tiff_tag::kFillOrder, 1) != 1 || tags.get(tiff_tag::kPhotometric, 1) == kYCbCr) return;
  const Parts parts = find_parts(tags);
  if (parts.offsets.size() < parts.count)
    refuse("its header names " + std::to_string(parts.offsets.size()) + " of " + std::to_string(parts.count) + " " +
           parts.name + "s");
  if (parts.sizes.size() < parts.offsets.size()) return;  // libtiff estimates the sizes
  const uint64_t whole = parts.rows * parts.row_bytes;
  for (uint64_t i = 0; i < parts.count; ++i) {
    const bool is_last = (i + 1) % parts.per_plane == 0;
    const uint64_t expected = is_last ? parts.last_rows * parts.row_bytes : whole;
    const Bytes data = file.subspan(parts.offsets[i], parts.sizes[i]);
    if (compression == kLzw && is_old_lzw(data)) continue;
    const std::optional<uint64_t> found = count_bytes(compression, data, whole);
    const std::string part = std::string("its ") + parts.name + " " + std::to_string(i + 1);
    if (!found) refuse(part + " cannot be decompressed");
    // Writers may fill up the last strip, and align data without compression.
    const uint64_t unused = compression == kNone ? 3 : 0;
    const auto fits = [&](uint64_t size) { return *found >= size && *found <= size + unused; };
    if (!fits(expected) && !fits(whole))
      refuse(part + " has " + (*found > whole ? "more than " + std::to_string(whole) : std::to_string(*found)) +
             " bytes after decompression; its header gives " + std::to_string(expected));
  }
}

Bytes without_alpha(Bytes file, std::vector<uint8_t>& copy) {
  constexpr uint32_t kUnassociated = 2;  // the colours are not multiplied by alpha
  constexpr uint8_t kAssociated = 1;
  const TiffTags tags(file);
  if (tags.get(tiff_tag::kExtraSamples, 0) != kUnassociated) return file;
  copy.assign(file.begin(), file.end());
  // The number has one byte that is not zero, for either order of bytes.
  const size_t at = *tags.position(tiff_tag::kExtraSamples);
  *std::find(copy.begin() + static_cast<std::ptrdiff_t>(at), copy.end(), uint8_t{kUnassociated}) = kAssociated;
  return copy;
}

}  // namespace images
