// What an image file says of itself before any of its pixels are decoded.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <opencv2/core/types.hpp>

namespace images {

using Bytes = std::span<const uint8_t>;

enum class Format { jpeg, png, webp, tiff, bmp, pnm };

struct ImageInfo {
  Format format;
  cv::Size size;    // upright, that is after the orientation has been applied
  int channels;     // in the file: 1 grey or palette index, 2 with alpha, 3 colour, 4 with alpha, or CMYK
  int bits;         // of a channel in the file: 1, 2, 4, 8 or 16
  int orientation;  // EXIF 2.3, tag 274: 1 is upright, 5 to 8 swap width and height
};

struct Limits {
  // Of width x height, and of a tile of a TIFF. The default is the one at which Pillow warns of a decompression bomb.
  int64_t max_pixels = 178956970;
};

// From the header alone; the format follows from the content, whatever the file's name says. Throws tenon::DataError,
// naming `path`: the format is none of the above, the header is damaged, the image has more pixels than allowed, a kind
// that cannot be decoded, or the file ends before the image does.
ImageInfo read_image_info(Bytes file, const std::string& path, const Limits& limits = {});

}  // namespace images
