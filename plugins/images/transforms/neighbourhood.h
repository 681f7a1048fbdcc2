// Blurs and sharpens 8-bit RGB images, with the definitions of torchvision 0.26 for uint8 tensors.
#pragma once

#include <opencv2/core.hpp>

#include "plugins/images/transforms/step.h"

namespace images {

// torchvision's gaussian_blur. The image is mirrored at its edges, and the edges are not repeated.
void blur(const cv::Mat& source, const Blur& step, cv::Mat& target);

// torchvision's adjust_sharpness. Mixes the image with a smoothed copy (3 x 3 kernel of 1 around 5). The edges stay.
void sharpen(const cv::Mat& source, const Sharpness& step, cv::Mat& target);

}  // namespace images
