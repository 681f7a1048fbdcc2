// Blurring and sharpening of 8-bit RGB images, with the definitions of torchvision 0.26 on tensors of uint8.
#pragma once

#include <opencv2/core.hpp>

#include "plugins/images/transforms/step.h"

namespace images {

// torchvision's gaussian_blur: the image is mirrored at its edges, which are not repeated.
void blur(const cv::Mat& source, const Blur& step, cv::Mat& target);

// torchvision's adjust_sharpness: mixed with itself smoothed by a 3 x 3 kernel of 1 around 5; the edges stay.
void sharpen(const cv::Mat& source, const Sharpness& step, cv::Mat& target);

}  // namespace images
