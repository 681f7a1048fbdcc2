// One function per transform, and the arguments that several transforms share.
#pragma once

#include "plugins/images/transforms/transform.h"

namespace images {

TransformKind random_resized_crop_kind();
TransformKind resize_kind();
TransformKind center_crop_kind();
TransformKind random_crop_kind();
TransformKind horizontal_flip_kind();
TransformKind vertical_flip_kind();
TransformKind random_rotation_kind();
TransformKind random_affine_kind();
TransformKind color_jitter_kind();
TransformKind grayscale_kind();
TransformKind gaussian_blur_kind();
TransformKind rand_augment_kind();
TransformKind auto_augment_kind();
TransformKind trivial_augment_wide_kind();
TransformKind normalize_kind();
TransformKind random_erasing_kind();

// Declares the argument `p`, the probability that the transform is applied. The chain checks it before the transform
// samples other values.
Argument probability(std::string default_value);
Argument size_argument(std::string doc);  // `224` or `(height, width)`
Argument interpolation_argument(std::string default_value, std::vector<std::string> words,
                                std::string doc = "interpolation method");
Argument antialias_argument();
Argument fill_argument();
Argument magnitude_bins_argument(std::string doc);

cv::Size size_from(const Arguments& arguments, std::string_view name);  // one number: a square
Interpolation interpolation_from(const Arguments& arguments);
Antialias antialias_from(const Arguments& arguments);
Colour colour_from(const std::vector<double>& numbers);  // one for all channels, or three

// Returns a number in [lower, upper).
double draw_between(tenon::Random& random, std::pair<double, double> interval);

}  // namespace images
