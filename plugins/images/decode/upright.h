// The eight ways in which an image may be stored (EXIF 2.3, tag 274), and how to turn it upright.
#pragma once

#include <utility>

#include <opencv2/core.hpp>

namespace images {

// How the stored image becomes the upright one: mirrored along its own axes, then its rows made columns.
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

// A rectangle of the upright image in the stored one, whose size is `stored`.
inline cv::Rect to_stored(cv::Rect upright, cv::Size stored, Turn turn) {
  cv::Rect rect = upright;
  if (turn.swaps) rect = {upright.y, upright.x, upright.height, upright.width};
  if (turn.mirrors_x) rect.x = stored.width - rect.x - rect.width;
  if (turn.mirrors_y) rect.y = stored.height - rect.y - rect.height;
  return rect;
}

// The other way.
inline cv::Rect2d to_upright(cv::Rect2d rect, cv::Size stored, Turn turn) {
  if (turn.mirrors_x) rect.x = stored.width - rect.x - rect.width;
  if (turn.mirrors_y) rect.y = stored.height - rect.y - rect.height;
  return turn.swaps ? cv::Rect2d(rect.y, rect.x, rect.height, rect.width) : rect;
}

// Writes into `upright`, which has its size and type already and shares no memory with `stored`.
inline void turn_upright(const cv::Mat& stored, Turn turn, cv::Mat& upright) {
  const bool across = turn.swaps ? turn.mirrors_y : turn.mirrors_x;
  const bool down = turn.swaps ? turn.mirrors_x : turn.mirrors_y;
  const int flip = across && down ? -1 : across ? 1 : 0;
  if (turn.swaps) cv::transpose(stored, upright);
  if (across || down) cv::flip(turn.swaps ? upright : stored, upright, flip);
}

}  // namespace images
