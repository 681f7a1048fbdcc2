// Applies steps to pixels.
#pragma once

#include <opencv2/core.hpp>

#include "plugins/images/transforms/step.h"

namespace images {

// Buffers that a worker thread reuses for every sample.
struct TransformBuffers {
  ResampleBuffers resample;
  cv::Mat images[2];  // source and target of a step, alternating
  int last_written = 0;
};

// Returns the area of the step, relative to its source.
ResizeArea area_of(const Resize& step);

cv::Size size_after(const Step& step, cv::Size size);

// Returns whether each new pixel depends only on the same pixel and on values that ignore the order of pixels.
// Mirroring before such a step equals mirroring after it.
bool is_pointwise(const Step& step);

// An image that steps transform within the buffers. It begins as a view of another image, which is never modified.
class MovingImage {
 public:
  MovingImage(const cv::Mat& image, TransformBuffers& buffers) : image_(image), buffers_(buffers) {}

  const cv::Mat& get() const { return image_; }

  // REQUIRES: 8-bit RGB.
  void apply(const Step& step);
  // Resizes a part of this image. Its pixels may be larger than the pixels that steps count in.
  void resize(const ResizeArea& area, Interpolation interpolation, Antialias antialias);

  // Treats the image as a mask: one channel of 8 or 16 bits or 32-bit integers. Applies only geometry, with the nearest
  // pixel, and `fill` outside the image.
  void apply_to_mask(const Step& step, int fill);

 private:
  cv::Mat& next_buffer() { return buffers_.images[buffers_.last_written ^ 1]; }
  void take_next_buffer();
  cv::Mat& writable();

  template <class Work>
  void rewrite(Work&& work);  // work(source, target)

  cv::Mat image_;
  TransformBuffers& buffers_;
  bool owns_ = false;
};

}  // namespace images
