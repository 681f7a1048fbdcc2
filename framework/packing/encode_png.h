// The only door to libpng.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::packing {

// pixels: [height, width, 3], red, green and blue. `file` becomes a PNG that has exactly these. Throws Error(data): an
// image without pixels, or with more than libpng takes along a side (1,000,000).
void encode_png(std::span<const std::byte> pixels, int64_t height, int64_t width, std::vector<std::byte>& file);

}  // namespace tenon::packing
