// Applies steps to pixels.
#pragma once

#include <array>

#include <opencv2/core.hpp>

#include "framework/images/transforms/step.h"

namespace images {

// Colour, with the definitions and the rounding of torchvision 0.26 (transforms/v2/functional/_color.py, on uint8
// tensors), in single precision. These change the image in place.
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
// torchvision 0.29, gaussian_noise_image, on uint8 tensors.
void apply(const Noise& step, cv::Mat& image);
// `mean` and `deviation`: in levels.
std::shared_ptr<const NoiseTable> make_noise_table(double mean, double deviation);
// albumentations 2.0.8, clahe: OpenCV's CLAHE of the channel L of the colour space L*a*b*.
void apply(const Clahe& step, cv::Mat& image);

// torchvision's gaussian_blur. The image is mirrored at its edges, and the edges are not repeated.
void blur(const cv::Mat& source, const Blur& step, cv::Mat& target);

// torchvision's adjust_sharpness. Mixes the image with a smoothed copy (3 x 3 kernel of 1 around 5). The edges stay.
void sharpen(const cv::Mat& source, const Sharpness& step, cv::Mat& target);

// Rotation, translation, scaling and shear. Angles are in degrees, translations in pixels.
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

// torchvision 0.29, perspective. Bilinear weighs pixels at the edge as warp() does.
void warp(const cv::Mat& source, const Perspective& warp, cv::Mat& target);

// Returns the coefficients that move the corners of an image of this size to `corners`: top left, top right, bottom
// right, bottom left. They are given as torchvision does, as indices of pixels.
std::array<double, 8> perspective_coefficients(cv::Size size, const std::array<cv::Point, 4>& corners);

// Warps single channels of 8, 16 or 32 bits with the nearest pixel. `fill` is used outside the image.
void warp_mask(const cv::Mat& source, const Warp& warp, double fill, cv::Mat& target);
void warp_mask(const cv::Mat& source, const Perspective& warp, double fill, cv::Mat& target);

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

// Returns whether the step moves pixels. Such steps also apply to masks.
bool is_geometric(const Step& step);

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
  void apply_to_mask(const Step& step, double fill);

 private:
  cv::Mat& next_buffer() { return buffers_.images[buffers_.last_written ^ 1]; }
  void take_next_buffer();
  cv::Mat& writable();

  cv::Mat image_;
  TransformBuffers& buffers_;
  bool owns_ = false;
};

}  // namespace images
