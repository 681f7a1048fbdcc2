// Pixel memory that is reused for every image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <opencv2/core.hpp>

namespace images {

class PixelBuffer {
 public:
  // Returns an uninitialised image in this memory, valid until the next call.
  cv::Mat make(cv::Size size, int type) {
    const size_t row = static_cast<size_t>(size.width) * CV_ELEM_SIZE(type);
    const size_t needed = row * static_cast<size_t>(size.height);
    if (needed > size_) {
      memory_.reset();  // frees the memory before allocating more
      size_ = 0;
      memory_ = std::make_unique_for_overwrite<uint8_t[]>(needed);
      size_ = needed;
    }
    return cv::Mat(size, type, memory_.get(), row);
  }

 private:
  std::unique_ptr<uint8_t[]> memory_;
  size_t size_ = 0;
};

}  // namespace images
