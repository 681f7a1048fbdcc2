// Steps done to pixels.
#pragma once

#include <opencv2/core.hpp>

#include "plugins/images/transforms/step.h"

namespace images {

// What a worker thread keeps from sample to sample.
struct TransformBuffers {
  ResampleBuffers resample;
  cv::Mat images[2];  // by turns what a step reads and what it writes
  int last_written = 0;
};

cv::Size size_after(const Step& step, cv::Size size);

// Whether each pixel becomes a function of itself and of what does not depend on the order of pixels: then mirroring
// before is mirroring afterwards.
bool is_pointwise(const Step& step);

// An image on its way through steps, in the buffers. It begins as somebody else's, whose pixels stay as they are.
class MovingImage {
 public:
  MovingImage(const cv::Mat& image, TransformBuffers& buffers) : image_(image), buffers_(buffers) {}

  const cv::Mat& get() const { return image_; }

  // REQUIRES: 8-bit RGB.
  void apply(const Step& step);
  // Of a part of this image, whose pixels may be larger than those that steps count in.
  void resize(const ResizeArea& area, Interpolation interpolation, Antialias antialias);

  // The image is a mask: one channel of 8 or 16 bits or 32-bit integers. Geometry alone is done to it, with the nearest
  // pixel, and `fill` where there is none.
  void apply_to_mask(const Step& step, int fill);

 private:
  cv::Mat& next_buffer() { return buffers_.images[buffers_.last_written ^ 1]; }
  void take_next_buffer();
  cv::Mat& own();

  template <class Work>
  void rewrite(Work&& work);  // work(source, target)

  cv::Mat image_;
  TransformBuffers& buffers_;
  bool owns_ = false;
};

}  // namespace images
