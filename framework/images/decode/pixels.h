// Decoded pixels: their memory, their conversion to 8-bit RGB, and their orientation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include <opencv2/core.hpp>

namespace images {

class PixelBuffer {
 public:
  // Returns an uninitialised image in this memory, valid until the next call.
  cv::Mat make(cv::Size size, int type) { return cv::Mat(size, type, reserve(count_bytes(size, type))); }

  // The same between guard bytes.
  cv::Mat make_guarded(cv::Size size, int type) {
    const size_t bytes = count_bytes(size, type);
    uint8_t* const memory = reserve(kGuard + bytes + kGuard);
    std::memset(memory, kGuardByte, kGuard);
    std::memset(memory + kGuard + bytes, kGuardByte, kGuard);
    return cv::Mat(size, type, memory + kGuard);
  }
  // Whether nothing was written beside an image of make_guarded().
  static bool is_guarded(const cv::Mat& image) {
    const auto is_untouched = [](const uint8_t* guard) {
      return std::all_of(guard, guard + kGuard, [](uint8_t byte) { return byte == kGuardByte; });
    };
    return is_untouched(image.data - kGuard) && is_untouched(image.data + count_bytes(image.size(), image.type()));
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr uint8_t kGuardByte = 0xC3;

  static size_t count_bytes(cv::Size size, int type) {
    return static_cast<size_t>(size.width) * CV_ELEM_SIZE(type) * static_cast<size_t>(size.height);
  }

  uint8_t* reserve(size_t needed) {
    if (needed > size_) {
      memory_.reset();  // frees the memory before allocating more
      size_ = 0;
      memory_ = std::make_unique_for_overwrite<uint8_t[]>(needed);
      size_ = needed;
    }
    return memory_.get();
  }

  std::unique_ptr<uint8_t[]> memory_;
  size_t size_ = 0;
};

// How decoded pixels become 8-bit RGB: the range of 16-bit values, and the colour below transparent pixels.
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

// The eight orientations of stored images (EXIF 2.3, tag 274), and their conversion to upright images.

// Turns the stored image upright: mirrors it along its axes, then transposes it.
struct Turn {
  bool mirrors_x;
  bool mirrors_y;
  bool swaps;
};

constexpr Turn turn_of(int orientation) {
  const bool mirrors_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirrors_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  return {mirrors_x, mirrors_y, orientation >= 5};
}

inline cv::Size swap_if(bool swaps, cv::Size size) { return swaps ? cv::Size(size.height, size.width) : size; }

// Converts a rectangle of the upright image to the stored image. `stored` is the size of the stored image.
inline cv::Rect to_stored(cv::Rect upright, cv::Size stored, Turn turn) {
  cv::Rect rect = upright;
  if (turn.swaps) rect = {upright.y, upright.x, upright.height, upright.width};
  if (turn.mirrors_x) rect.x = stored.width - rect.x - rect.width;
  if (turn.mirrors_y) rect.y = stored.height - rect.y - rect.height;
  return rect;
}

// Converts a rectangle of the stored image to the upright image.
inline cv::Rect2d to_upright(cv::Rect2d rect, cv::Size stored, Turn turn) {
  if (turn.mirrors_x) rect.x = stored.width - rect.x - rect.width;
  if (turn.mirrors_y) rect.y = stored.height - rect.y - rect.height;
  return turn.swaps ? cv::Rect2d(rect.y, rect.x, rect.height, rect.width) : rect;
}

// Writes into `upright`, which must have the right size and type, and must not share memory with `stored`.
inline void turn_upright(const cv::Mat& stored, Turn turn, cv::Mat& upright) {
  const bool across = turn.swaps ? turn.mirrors_y : turn.mirrors_x;
  const bool down = turn.swaps ? turn.mirrors_x : turn.mirrors_y;
  const int flip = across && down ? -1 : across ? 1 : 0;
  if (turn.swaps) cv::transpose(stored, upright);
  if (across || down) cv::flip(turn.swaps ? upright : stored, upright, flip);
}

}  // namespace images
