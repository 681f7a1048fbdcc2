// Rotation, translation, scale and shear.
#pragma once

#include <array>

#include <opencv2/core.hpp>

#include "plugins/images/transforms/step.h"

namespace images {

// In degrees and pixels.
struct Affine {
  double angle = 0;  // clockwise
  double translate_x = 0;
  double translate_y = 0;
  double scale = 1;
  double shear_x = 0;
  double shear_y = 0;
};

// The matrix of a Warp that does this about `center`, which is measured from the image's centre: the inverse, as in
// torchvision 0.26, transforms/v2/functional/_geometry.py.
std::array<double, 6> inverse_matrix(const Affine& affine, cv::Point2d center = {});

// The size at which nothing of a warped image is cut off.
cv::Size expanded_size(const std::array<double, 6>& matrix, cv::Size size);

// source: 8-bit RGB. As torchvision: bilinear weighs a pixel at the image's edge by the part of it within the image,
// and the fill by the rest.
void warp(const cv::Mat& source, const Warp& warp, cv::Mat& target);

// Nearest, for single channels of 8, 16 or 32 bits; `fill` is where the image is not.
void warp_mask(const cv::Mat& source, const Warp& warp, int fill, cv::Mat& target);

}  // namespace images
