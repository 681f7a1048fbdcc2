// Rotates, translates, scales and shears images.
#pragma once

#include <array>

#include <opencv2/core.hpp>

#include "plugins/images/transforms/step.h"

namespace images {

// Angles are in degrees, translations in pixels.
struct Affine {
  double angle = 0;  // clockwise
  double translate_x = 0;
  double translate_y = 0;
  double scale = 1;
  double shear_x = 0;
  double shear_y = 0;
};

// Returns the matrix of a Warp for this transform about `center`, which is measured from the image's centre. It is the
// inverse matrix, as in torchvision 0.26, transforms/v2/functional/_geometry.py.
std::array<double, 6> inverse_matrix(const Affine& affine, cv::Point2d center = {});

// Returns the smallest size that contains the whole warped image.
cv::Size expanded_size(const std::array<double, 6>& matrix, cv::Size size);

// source: 8-bit RGB. As in torchvision, bilinear weighs a pixel at the image's edge by its part within the image, and
// the fill by the rest.
void warp(const cv::Mat& source, const Warp& warp, cv::Mat& target);

// Warps single channels of 8, 16 or 32 bits with the nearest pixel. `fill` is used outside the image.
void warp_mask(const cv::Mat& source, const Warp& warp, int fill, cv::Mat& target);

}  // namespace images
