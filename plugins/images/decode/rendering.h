// How decoded pixels become 8-bit RGB: the range of 16-bit values, and the colour below transparent pixels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <opencv2/core.hpp>

namespace images {

struct Rendering {
  int max_value = 65535;                                  // the 16-bit value that becomes 255; larger ones do, too
  std::optional<std::array<uint8_t, 3>> background = {};  // red, green, blue; without it, alpha is dropped

  bool operator==(const Rendering&) const = default;
};

// What the pixels of an image show about it.
struct PixelContent {
  int largest = 0;              // value of a 16-bit image, without its alpha; 0: fewer bits
  bool is_transparent = false;  // some alpha is not the largest
};

enum class ChannelOrder { rgb, bgr };

// Converts pixels with 8 or 16 bits and 3 or 4 channels, the fourth one alpha. A value v of 16 bits becomes
// floor(256 v / (max_value + 1)): the upper 8 bits for 65535, the upper 8 of 12 bits for 4095. Colours over a
// background are rounded like those of Pillow's Image.paste. `rgb` has the size of `stored`, 8 bits and 3 channels.
PixelContent render_pixels(const cv::Mat& stored, ChannelOrder order, const Rendering& rendering, cv::Mat& rgb);

}  // namespace images
