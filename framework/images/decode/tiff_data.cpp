#include "framework/images/decode/headers.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>

#include "framework/images/decode/decoders.h"
#include "framework/images/decode/tiff_tags.h"

namespace images {
namespace {

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
  using namespace tiff_compression;
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
  cv::Size size;       // of one part, in pixels
  int last_rows;       // pixels down the last part of a plane; a tile is filled up
  uint64_t per_plane;  // parts
  uint64_t count;      // parts in all planes
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> sizes;
};

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

Parts find_parts(const TiffTags& tags) {
  const uint64_t width = tags.get(tiff_tag::kWidth, 0), height = tags.get(tiff_tag::kHeight, 0);
  const uint64_t planes = tags.get(tiff_tag::kPlanes, 1) == 2 ? tags.get(tiff_tag::kSamples, 1) : 1;
  if (tags.find(tiff_tag::kTileOffsets)) {
    const uint64_t across = std::max(tags.get(tiff_tag::kTileWidth, 0), 1u);
    const uint64_t down = std::max(tags.get(tiff_tag::kTileHeight, 0), 1u);
    const uint64_t per_plane = divide_up(width, across) * divide_up(height, down);
    return {"tile",
            make_size(static_cast<int64_t>(across), static_cast<int64_t>(down)),
            static_cast<int>(down),
            per_plane,
            per_plane * planes,
            tags.all(tiff_tag::kTileOffsets),
            tags.all(tiff_tag::kTileByteCounts)};
  }
  const uint64_t rows = std::clamp<uint64_t>(tags.get(tiff_tag::kRowsPerStrip, UINT32_MAX), 1, height);
  const uint64_t per_plane = divide_up(height, rows);
  return {"strip",
          make_size(static_cast<int64_t>(width), static_cast<int64_t>(rows)),
          static_cast<int>(height - (per_plane - 1) * rows),
          per_plane,
          per_plane * planes,
          tags.all(tiff_tag::kStripOffsets),
          tags.all(tiff_tag::kStripByteCounts)};
}

// Counts the bytes of a part without compression.
class PartSize {
 public:
  explicit PartSize(const TiffTags& tags) {
    const uint64_t samples = tags.get(tiff_tag::kSamples, 1);
    const bool is_interleaved = tags.get(tiff_tag::kPlanes, 1) != 2;
    block_bits_ = uint64_t{tags.get(tiff_tag::kBits, 1)} * (is_interleaved ? samples : 1);
    if (tags.get(tiff_tag::kPhotometric, 1) != tiff_colours::kYCbCr || !is_interleaved) return;
    // TIFF 6.0, section 21: a block has the luma of its pixels and one pair of chroma values.
    const std::vector<uint32_t> steps = tags.all(tiff_tag::kSubsampling);
    across_ = steps.size() == 2 ? steps[0] : 2;
    down_ = steps.size() == 2 ? steps[1] : 2;
    const auto is_step = [](uint64_t step) { return step == 1 || step == 2 || step == 4; };
    if (!is_step(across_) || !is_step(down_)) refuse("its header gives an unknown subsampling of the chroma");
    block_bits_ = 8 * (across_ * down_ + 2);
  }

  uint64_t of(int width, int rows) const {
    const uint64_t row = divide_up(divide_up(static_cast<uint64_t>(width), across_) * block_bits_, 8);
    return divide_up(static_cast<uint64_t>(rows), down_) * row;
  }

 private:
  uint64_t across_ = 1, down_ = 1;  // pixels of a block
  uint64_t block_bits_;
};

Bytes reverse_bits(Bytes data, std::vector<uint8_t>& reversed) {
  reversed.assign(data.begin(), data.end());
  for (uint8_t& byte : reversed) {
    uint8_t other = 0;
    for (int bit = 0; bit < 8; ++bit) other = static_cast<uint8_t>(other << 1 | (byte >> bit & 1));
    byte = other;
  }
  return reversed;
}

}  // namespace

void check_tiff_data(Bytes file) {
  using namespace tiff_compression;
  const TiffTags tags(file);
  const uint32_t compression = tags.get(tiff_tag::kCompression, kNone);
  const Parts parts = find_parts(tags);
  if (parts.offsets.size() < parts.count)
    refuse("its header names " + std::to_string(parts.offsets.size()) + " of " + std::to_string(parts.count) + " " +
           parts.name + "s");
  if (parts.sizes.size() < parts.count)
    refuse("its header gives the size of " + std::to_string(parts.sizes.size()) + " of " + std::to_string(parts.count) +
           " " + parts.name + "s");
  const PartSize bytes(tags);
  const uint64_t whole = bytes.of(parts.size.width, parts.size.height);
  const bool is_reversed = tags.get(tiff_tag::kFillOrder, 1) == 2 && compression != kNone && compression != kJpeg;
  const bool is_interleaved = tags.get(tiff_tag::kPlanes, 1) != 2;
  const int components = is_interleaved ? static_cast<int>(tags.get(tiff_tag::kSamples, 1)) : 1;
  const bool is_subsampled = is_interleaved && tags.get(tiff_tag::kPhotometric, 1) == tiff_colours::kYCbCr;
  std::vector<uint8_t> reversed;
  for (uint64_t i = 0; i < parts.count; ++i) {
    const bool is_last = (i + 1) % parts.per_plane == 0;
    const int rows = is_last ? parts.last_rows : parts.size.height;
    const uint64_t expected = bytes.of(parts.size.width, rows);
    const std::string part = std::string("its ") + parts.name + " " + std::to_string(i + 1);
    Bytes data = file.subspan(parts.offsets[i], parts.sizes[i]);
    if (compression == kJpeg) {
      const std::string damage =
          find_jpeg_damage(tags.bytes(tiff_tag::kJpegTables), data,
                           {{parts.size.width, rows}, parts.size.height, components, is_subsampled});
      if (!damage.empty()) refuse(part + " cannot be decompressed: " + damage);
      continue;
    }
    if (is_reversed) data = reverse_bits(data, reversed);
    if (compression == kLzw && is_old_lzw(data))
      throw DamagedHeader("is a TIFF in the LZW compression from before TIFF 6.0, or is damaged; convert it");
    const std::optional<uint64_t> found = count_bytes(compression, data, whole);
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
