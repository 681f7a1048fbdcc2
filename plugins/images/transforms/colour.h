// Colour transforms of 8-bit RGB images in place, with the definitions and the rounding of torchvision 0.26
// (transforms/v2/functional/_color.py, on uint8 tensors), in single precision.
#pragma once

#include <opencv2/core.hpp>

#include "plugins/images/transforms/step.h"

namespace images {

void apply(const Brightness& step, cv::Mat& image);
void apply(const Contrast& step, cv::Mat& image);
void apply(const Saturation& step, cv::Mat& image);
void apply(const Hue& step, cv::Mat& image);
void apply(const Grayscale& step, cv::Mat& image);
void apply(const Posterize& step, cv::Mat& image);
void apply(const Solarize& step, cv::Mat& image);
void apply(const AutoContrast& step, cv::Mat& image);
void apply(const Equalize& step, cv::Mat& image);
void apply(const Invert& step, cv::Mat& image);

}  // namespace images
