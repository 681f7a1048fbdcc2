// The eight orientations of stored images (EXIF 2.3, tag 274), and their conversion to upright images.
#pragma once

#include <utility>

#include <opencv2/core.hpp>

namespace images {

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
