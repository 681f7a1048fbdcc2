// Copies 8-bit pixels to a sample's slot in the batch. This is the last step of a sample.
#pragma once

#include <cstdint>

#include <opencv2/core.hpp>

#include "framework/images/transforms/transform.h"

namespace images {

enum class Mirror { no, yes };  // left to right

// A factor for a channel's 8-bit values, and an offset that is then added.
struct Scaling8Bit {
  explicit Scaling8Bit(const Normalization& normalization);
  Colour factor;
  Colour addend;
};

// image: 8-bit RGB; planes: [3, H, W], red first.
void write_planes(const cv::Mat& image, Mirror mirror, const Scaling8Bit& scaling, float* planes);
// Gives the same result without vector instructions.
void write_planes_portably(const cv::Mat& image, Mirror mirror, const Scaling8Bit& scaling, float* planes);

// pixels: [H, W, 3].
void write_bytes(const cv::Mat& image, Mirror mirror, uint8_t* pixels);

}  // namespace images
