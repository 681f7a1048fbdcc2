// The only door to libpng.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::artifacts {

// pixels: [height, width, channels] with 1 (grey) or 3 (red, green and blue). `file` becomes a PNG that has exactly
// these. Throws Error(data): an image without pixels, or with more than libpng takes along a side (1,000,000).
void encode_png(std::span<const std::byte> pixels, int64_t height, int64_t width, int64_t channels,
                std::vector<std::byte>& file);

}  // namespace tenon::artifacts
