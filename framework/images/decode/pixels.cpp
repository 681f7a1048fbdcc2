#include "framework/images/decode/pixels.h"

#include <algorithm>

namespace images {
namespace {

// As in Pillow's Paste.c: c over b with alpha a, each from 0 to 255.
uint8_t blend(uint32_t c, uint32_t b, uint32_t a) {
  const uint32_t sum = c * a + b * (255 - a) + 128;
  return static_cast<uint8_t>((sum + (sum >> 8)) >> 8);
}

template <class T>
PixelContent render(const cv::Mat& stored, ChannelOrder order, const Rendering& rendering, cv::Mat& rgb) {
  constexpr bool kIsDeep = sizeof(T) == 2;
  constexpr T kOpaque = static_cast<T>(~T{0});
  const uint32_t values = static_cast<uint32_t>(rendering.max_value) + 1;
  const auto channels = static_cast<size_t>(stored.channels());
  const bool has_alpha = channels == 4;
  PixelContent content;
  T largest = 0;
  for (int y = 0; y < stored.rows; ++y) {
    const T* from = stored.ptr<T>(y);
    uint8_t* to = rgb.ptr(y);
    for (int x = 0; x < stored.cols; ++x, from += channels, to += 3) {
      const uint32_t alpha = has_alpha ? static_cast<uint32_t>(kIsDeep ? from[3] >> 8 : from[3]) : 255u;
      if (has_alpha && from[3] != kOpaque) content.is_transparent = true;
      for (size_t c = 0; c < 3; ++c) {
        const T stored_value = from[order == ChannelOrder::bgr ? 2 - c : c];
        largest = std::max(largest, stored_value);
        const uint32_t value = kIsDeep ? std::min(stored_value * 256u / values, 255u) : stored_value;
        to[c] = has_alpha && rendering.background ? blend(value, (*rendering.background)[c], alpha)
                                                  : static_cast<uint8_t>(value);
      }
    }
  }
  if (kIsDeep) content.largest = largest;
  return content;
}

}  // namespace

PixelContent render_pixels(const cv::Mat& stored, ChannelOrder order, const Rendering& rendering, cv::Mat& rgb) {
  CV_Assert(stored.size() == rgb.size() && rgb.type() == CV_8UC3 && (stored.channels() == 3 || stored.channels() == 4));
  CV_Assert(stored.depth() == CV_8U || stored.depth() == CV_16U);
  return stored.depth() == CV_8U ? render<uint8_t>(stored, order, rendering, rgb)
                                 : render<uint16_t>(stored, order, rendering, rgb);
}

}  // namespace images
