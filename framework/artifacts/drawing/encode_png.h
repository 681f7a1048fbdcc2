// PNG encoder. The image plugins decode PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::artifacts {

// Encodes pixels [height, width, channels], with 1 (grey) or 3 (red, green, blue) channels, losslessly into `file`.
// Throws Error(data) if the image has no pixels, or a side longer than the limit of libpng (1,000,000 pixels).
void encode_png(std::span<const std::byte> pixels, int64_t height, int64_t width, int64_t channels,
                std::vector<std::byte>& file);

}  // namespace tenon::artifacts
