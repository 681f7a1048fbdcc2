#include "plugins/images/decode/headers.h"
#include "plugins/images/decode/tiff_tags.h"

namespace images {
namespace {

// libtiff fills missing parts with black, and OpenCV reports success.
void check_parts(const TiffTags& tags, const ByteReader& bytes, uint16_t offsets_tag, uint16_t counts_tag) {
  const std::vector<uint32_t> offsets = tags.all(offsets_tag);
  const std::vector<uint32_t> counts = tags.all(counts_tag);
  for (size_t i = 0; i < offsets.size() && i < counts.size(); ++i) {
    if (offsets[i] > bytes.size() || counts[i] > bytes.size() - offsets[i]) {
      throw DamagedHeader("is truncated after " + std::to_string(bytes.size()) +
                          " bytes, before the image ends; fetch the file again or remove it");
    }
  }
}

// A decoder allocates memory for a whole tile, even for a small image.
void check_tile(const TiffTags& tags, const Limits& limits) {
  const uint64_t pixels = uint64_t{tags.get(tiff_tag::kTileWidth, 0)} * tags.get(tiff_tag::kTileHeight, 0);
  if (pixels > static_cast<uint64_t>(limits.max_pixels)) {
    throw DamagedHeader("its tiles have " + std::to_string(pixels) + " pixels; expected at most " +
                        std::to_string(limits.max_pixels) + "; convert it");
  }
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

ImageInfo read_tiff_header(Bytes file, const Limits& limits) {
  const ByteReader bytes(file, std::endian::little);
  const TiffTags tags(file);
  const cv::Size size = make_size(tags.get(tiff_tag::kWidth, 0), tags.get(tiff_tag::kHeight, 0));
  const auto bits = static_cast<int>(tags.get(tiff_tag::kBits, 1));
  const auto channels = static_cast<int>(tags.get(tiff_tag::kSamples, 1));
  if ((bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16) || tags.get(tiff_tag::kSampleFormat, 1) != 1) {
    throw DamagedHeader("is a TIFF of " + std::to_string(bits) + " bits in the sample format " +
                        std::to_string(tags.get(tiff_tag::kSampleFormat, 1)) +
                        "; expected unsigned integers of up to 16 bits; convert it");
  }
  if (channels < 1 || channels > 4) {
    throw DamagedHeader("is a TIFF of " + std::to_string(channels) + " channels; expected 1 to 4; convert it");
  }
  if (bits == 16) check_deep(tags, channels);
  check_tile(tags, limits);
  check_parts(tags, bytes, tiff_tag::kStripOffsets, tiff_tag::kStripByteCounts);
  check_parts(tags, bytes, tiff_tag::kTileOffsets, tiff_tag::kTileByteCounts);
  const uint32_t orientation = tags.get(tiff_tag::kOrientation, 1);
  return {Format::tiff, size, channels, bits, orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1};
}

}  // namespace images
