// Scales 8-bit RGB images.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "plugins/images/resample/resample_passes.h"

namespace images {

enum class Interpolation { nearest, bilinear, bicubic };
enum class Antialias { no, yes };

// Buffers that a thread reuses for every image.
struct ResampleBuffers {
  Weights across;
  Weights down;
  std::vector<uint8_t> rows;
  std::vector<uint8_t> mixed;
  cv::Mat scaled;
};

// Scales `box` of the source, in source pixels, to `scaled`, and computes only `part` of the result. Source pixels
// outside the box contribute at the edges of the box. To avoid that, pass a view of the source.
struct ResizeArea {
  cv::Rect2d box;
  cv::Size scaled;
  cv::Rect part;
};

// source: 8-bit RGB; target: allocated with the size of `part`. With antialiasing the result follows Pillow's resize
// with a box, and is identical for bilinear and bicubic. Without antialiasing it follows OpenCV's resize, with the box
// rounded to whole pixels. nearest selects the source pixel that contains the target pixel's centre, like Pillow and
// torchvision's nearest-exact.
// REQUIRES: the pixels of the box that the part needs lie within the source; part is within scaled and not empty;
// target does not share the source's memory.
void resize(const cv::Mat& source, const ResizeArea& area, Interpolation interpolation, Antialias antialias,
            ResampleBuffers& buffers, cv::Mat& target, const ResamplePasses& passes = best_passes());

// Resizes with nearest for pixels of any type, for masks.
void resize_nearest(const cv::Mat& source, const ResizeArea& area, cv::Mat& target);

// Returns the window of the source that `area` needs.
cv::Rect needed_window(cv::Size source, const ResizeArea& area, Interpolation interpolation);

}  // namespace images
