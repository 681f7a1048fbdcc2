// The properties of an image file, read before any pixels are decoded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <opencv2/core/types.hpp>

namespace images {

using Bytes = std::span<const uint8_t>;

enum class Format { jpeg, png, webp, tiff, bmp, pnm };

struct ImageInfo {
  Format format;
  cv::Size size;    // upright size, after the orientation is applied
  int channels;     // in the file: 1 grey or palette index, 2 grey and alpha, 3 colour, 4 colour and alpha, or CMYK
  int bits;         // per channel in the file: 1, 2, 4, 8 or 16
  int orientation;  // EXIF 2.3, tag 274: 1 is upright, 5 to 8 swap width and height
  bool has_alpha = false;  // of PNG, WebP and TIFF, also as one transparent colour; BMP rarely means its fourth channel
  bool has_more_images = false;  // of PNG and TIFF: frames or pages after the first one, which alone is read
};

// Reads a file into reusable memory. Throws tenon::DataError naming it if it cannot be read, is not a regular file, is
// empty, or has more than INT_MAX bytes.
void read_file(const std::string& path, std::vector<uint8_t>& bytes);

struct Limits {
  // Limits width x height, also of a TIFF tile. The default is the size at which Pillow warns of a decompression bomb.
  int64_t max_pixels = 178956970;
};

// Reads only the header. The content decides the format, and the file's extension is ignored. Throws tenon::DataError
// naming `path`: an unknown format, a damaged header, more pixels than allowed, an unsupported kind, or a truncated
// file.
ImageInfo read_image_info(Bytes file, const std::string& path, const Limits& limits = {});

}  // namespace images
