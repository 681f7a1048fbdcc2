// Scaling of 8-bit RGB images.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "plugins/images/transforms/resample_passes.h"

namespace images {

enum class Interpolation { nearest, bilinear, bicubic };
enum class Antialias { no, yes };

// What a thread reuses from image to image.
struct ResampleBuffers {
  Weights across;
  Weights down;
  std::vector<uint8_t> rows;
  std::vector<uint8_t> mixed;
  cv::Mat scaled;
};

// `box` of the source, in its pixels, is scaled to `scaled`, of which `part` is wanted. What lies outside the box but
// within the source takes part at the box's edges; pass a view of the source where it must not.
struct ResizeArea {
  cv::Rect2d box;
  cv::Size scaled;
  cv::Rect part;
};

// source: 8-bit RGB; target: made as `part` is large. With antialiasing as Pillow's resize with a box, equal to the bit
// for bilinear and bicubic. Without as OpenCV's resize, of the box rounded to whole pixels.
// nearest: the source pixel in which the target pixel's centre lies, as in Pillow and torchvision's nearest-exact.
// REQUIRES: what the part needs of the box lies within the source; part is within scaled and not empty; target does not
// share the source's memory.
void resize(const cv::Mat& source, const ResizeArea& area, Interpolation interpolation, Antialias antialias,
            ResampleBuffers& buffers, cv::Mat& target, const ResamplePasses& passes = best_passes());

// The same with nearest, for pixels of any type: masks.
void resize_nearest(const cv::Mat& source, const ResizeArea& area, cv::Mat& target);

// The window of the source that `area` needs.
cv::Rect needed_window(cv::Size source, const ResizeArea& area, Interpolation interpolation);

}  // namespace images
