// The transforms that a configuration can name.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/random.hpp>

#include "framework/images/transforms/arguments.h"
#include "framework/images/transforms/step.h"

namespace images {

// (value / 255 - mean) / deviation, per channel.
struct Normalization {
  Colour mean;
  Colour deviation;
};

class PluginTransform;

class Transform {
 public:
  virtual ~Transform() = default;

  // Appends the steps for an image of this size, and sets `size` to the size of the result. Throws tenon::DataError if
  // the image cannot be transformed.
  virtual void draw(cv::Size& size, tenon::Random& random, Steps& steps) const = 0;

  // Whether draw_with_boxes() is called in place of draw().
  virtual bool needs_boxes() const { return false; }
  // `boxes`: left, top, right and bottom of each, in pixels of an image of this size.
  virtual void draw_with_boxes(cv::Size& size, std::span<const float> boxes, tenon::Random& random,
                               Steps& steps) const {
    static_cast<void>(boxes);
    draw(size, random, steps);
  }

  // Returns the size of the result if it is the same for all images of the given size, or no value if sizes differ.
  virtual std::optional<cv::Size> output_size(std::optional<cv::Size> size) const { return size; }

  // Returns whether the transform is the same for all images of one size, in every epoch.
  virtual bool draws_nothing() const { return false; }

  // Set only for a transform of a plugin. Its draw() does nothing: it is applied between two stages of the chain.
  virtual const PluginTransform* plugin() const { return nullptr; }

  // Set only for normalize, which samples nothing.
  virtual const Normalization* normalization() const { return nullptr; }

  // Throws TextError if the transform does not work on normalised numbers after normalize, or on 8-bit pixels before
  // it.
  virtual void check_place(bool after_normalize) const {
    if (after_normalize)
      throw TextError("comes after normalize; expected it before normalize, where pixels have 8 bits");
  }
};

// A transform that the configuration can name.
struct TransformKind {
  std::string name;
  std::string doc;     // one sentence
  std::string source;  // source of the definition
  std::vector<Argument> arguments;
  std::unique_ptr<Transform> (*make)(const Arguments& arguments);  // throws TextError; null: mosaic, of the chain
};

template <class T>
std::unique_ptr<Transform> make_transform(const Arguments& arguments) {
  if constexpr (std::is_default_constructible_v<T>)
    return std::make_unique<T>();
  else
    return std::make_unique<T>(arguments);
}

// Returns all transforms, in the order of the documentation.
const std::vector<TransformKind>& all_transforms();

// One function per transform, and the arguments that several transforms share.
TransformKind random_resized_crop_kind();
TransformKind resize_kind();
TransformKind center_crop_kind();
TransformKind random_crop_kind();
TransformKind horizontal_flip_kind();
TransformKind vertical_flip_kind();
TransformKind random_rotation_kind();
TransformKind random_affine_kind();
TransformKind random_perspective_kind();
TransformKind letterbox_kind();
TransformKind scale_jitter_kind();
TransformKind random_zoom_out_kind();
TransformKind random_iou_crop_kind();
TransformKind color_jitter_kind();
TransformKind grayscale_kind();
TransformKind gaussian_blur_kind();
TransformKind gaussian_noise_kind();
TransformKind clahe_kind();
TransformKind coarse_dropout_kind();
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

// Generates docs/reference/transforms.md from the declarations of the transforms.
std::string describe_transforms();

}  // namespace images
