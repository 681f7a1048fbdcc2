// PNG files in memory. The only door to libpng.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::artifacts {

// 8-bit pixels, row by row from the top, `channels` of each together: 1 (grey) or 3 (red, green, blue).
struct Picture {
  int64_t height;
  int64_t width;
  int64_t channels;
  std::vector<uint8_t> pixels;  // height * width * channels
};

// Lossless. Throws Error(internal) where libpng cannot: a side of 0, or of more than 2^31 - 1 pixels.
std::vector<uint8_t> encode_png(const Picture& picture);

}  // namespace tenon::artifacts
