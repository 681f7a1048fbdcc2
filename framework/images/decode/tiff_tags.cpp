#include "framework/images/decode/tiff_tags.h"

#include "framework/images/decode/headers.h"

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

// libtiff fills missing parts with black, and OpenCV reports success.
void check_parts(const TiffTags& tags, const ByteReader& bytes, uint16_t offsets_tag, uint16_t counts_tag) {
  const std::vector<uint32_t> offsets = tags.all(offsets_tag);
  const std::vector<uint32_t> counts = tags.all(counts_tag);
  for (size_t i = 0; i < offsets.size() && i < counts.size(); ++i) {
    check_data(bytes, offsets[i], counts[i]);
  }
}

// A decoder allocates memory for a whole tile, even for a small image, and decodes whole tiles. They may store the same
// bytes, so a small file could keep it busy for hours.
void check_tiles(const TiffTags& tags, cv::Size size, const Limits& limits) {
  constexpr uint64_t kMostFill = 4;  // times the limit of pixels, for images of a few rows or columns
  const auto most = static_cast<uint64_t>(limits.max_pixels);
  const uint64_t width = tags.get(tiff_tag::kTileWidth, 0), height = tags.get(tiff_tag::kTileHeight, 0);
  const uint64_t pixels = width * height;
  if (pixels > most) {
    throw DamagedHeader("its tiles have " + std::to_string(pixels) + " pixels; expected at most " +
                        std::to_string(most) + "; convert it");
  }
  if (pixels == 0) return;
  const auto divide_up = [](int side, uint64_t tile) { return (static_cast<uint64_t>(side) + tile - 1) / tile; };
  const uint64_t tiles = divide_up(size.width, width) * divide_up(size.height, height);
  if (tiles / kMostFill > most / pixels) {
    throw DamagedHeader("its " + std::to_string(tiles) + " tiles of " + std::to_string(pixels) +
                        " pixels have more than " + std::to_string(kMostFill) + " times " + std::to_string(most) +
                        " pixels together; convert it");
  }
}

const char* name_compression(uint32_t compression) {
  switch (compression) {
    case 2: return "CCITT RLE";
    case 3: return "CCITT Group 3";
    case 4: return "CCITT Group 4";
    case 6: return "JPEG from before TIFF 6.0";
    case 34712: return "JPEG 2000";
    case 34925: return "LZMA";
    case 50000: return "Zstandard";
    case 50001: return "WebP";
    default: return nullptr;
  }
}

// libtiff does not report damage to OpenCV. check_tiff_data() finds it in these compressions.
void check_compression(const TiffTags& tags) {
  using namespace tiff_compression;
  const uint32_t compression = tags.get(tiff_tag::kCompression, kNone);
  for (const uint32_t known : {kNone, kLzw, kJpeg, kDeflate, kOldDeflate, kPackBits})
    if (compression == known) return;
  const char* name = name_compression(compression);
  throw DamagedHeader("is a TIFF in the compression " + (name ? std::string(name) : std::to_string(compression)) +
                      ", in which damage cannot be found; expected none, LZW, Deflate, PackBits or JPEG; convert it");
}

// The combinations that libtiff converts to RGB.
void check_colours(const TiffTags& tags, int channels, int bits) {
  using namespace tiff_colours;
  const std::optional<uint32_t> colours = tags.find(tiff_tag::kPhotometric);
  if (!colours)
    throw DamagedHeader(
        "is damaged: its header lacks the photometric interpretation; fetch the file again or "
        "convert it");
  const bool is_whole = bits >= 8 || channels == 1;
  bool is_known = false;
  switch (*colours) {
    case kWhiteIsZero:
    case kBlackIsZero: is_known = is_whole && channels <= 2; break;
    case kPalette: is_known = is_whole && tags.find(tiff_tag::kColourMap).has_value(); break;
    case kRgb: is_known = bits >= 8 && channels >= 3; break;
    case kInks: is_known = bits == 8 && channels == 4 && tags.get(tiff_tag::kInkSet, 1) == 1; break;
    case kYCbCr: is_known = bits == 8 && channels == 3; break;
  }
  if (!is_known)
    throw DamagedHeader("is a TIFF of " + std::to_string(channels) + " channels of " + std::to_string(bits) +
                        " bits in the photometric interpretation " + std::to_string(*colours) +
                        "; expected grey (0 or 1), RGB (2), a palette (3), CMYK (5) or YCbCr (6); convert it");
}

// OpenCV reads 16 bits directly, without libtiff's conversion, as grey or interleaved RGB.
void check_deep(const TiffTags& tags, int channels) {
  const uint32_t colours = tags.get(tiff_tag::kPhotometric, 1);
  const bool is_grey_or_rgb = colours == 1 || colours == 2;
  const bool is_interleaved = channels == 1 || tags.get(tiff_tag::kPlanes, 1) == 1;
  if (is_grey_or_rgb && is_interleaved) return;
  throw DamagedHeader("is a TIFF of 16 bits in the photometric interpretation " + std::to_string(colours) +
                      (is_interleaved ? "" : ", in planes") +
                      "; expected 1 (grey) or 2 (RGB), interleaved; convert it to that or to 8 bits");
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

int TiffTags::orientation() const {
  const uint32_t found = get(tiff_tag::kOrientation, 1);
  return found >= 1 && found <= 8 ? static_cast<int>(found) : 1;
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
    return TiffTags(exif).orientation();
  } catch (const DamagedHeader&) {
    return 1;
  }
}

ImageInfo read_tiff_header(Bytes file, const Limits& limits) {
  const ByteReader bytes(file, std::endian::little);
  const TiffTags tags(file);
  const cv::Size size = make_size(tags.get(tiff_tag::kWidth, 0), tags.get(tiff_tag::kHeight, 0));
  const auto bits = static_cast<int>(tags.get(tiff_tag::kBits, 1));
  const auto channels = static_cast<int>(tags.get(tiff_tag::kSamples, 1));
  const uint32_t format = tags.get(tiff_tag::kSampleFormat, 1);
  const bool is_float = format == 3 && bits == 32;
  if (!is_float && ((bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16) || format != 1)) {
    throw DamagedHeader("is a TIFF of " + std::to_string(bits) + " bits in the sample format " +
                        std::to_string(format) +
                        "; expected unsigned integers of up to 16 bits, or numbers with 32 bits; convert it");
  }
  if (channels < 1 || channels > 4) {
    throw DamagedHeader("is a TIFF of " + std::to_string(channels) + " channels; expected 1 to 4; convert it");
  }
  check_compression(tags);
  check_colours(tags, channels, bits);
  if (bits == 16) check_deep(tags, channels);
  check_tiles(tags, size, limits);
  check_parts(tags, bytes, tiff_tag::kStripOffsets, tiff_tag::kStripByteCounts);
  check_parts(tags, bytes, tiff_tag::kTileOffsets, tiff_tag::kTileByteCounts);
  const uint32_t extra = tags.get(tiff_tag::kExtraSamples, 0);
  const bool has_alpha = (channels == 2 || channels == 4) && (extra == 1 || extra == 2);
  return {Format::tiff, size, channels, bits, tags.orientation(), has_alpha, tags.has_more_pages()};
}

}  // namespace images
