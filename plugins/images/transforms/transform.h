// A transform of the configuration. It samples random values and produces steps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/random.hpp>

#include "plugins/images/transforms/arguments.h"
#include "plugins/images/transforms/step.h"

namespace images {

// (value / 255 - mean) / deviation, per channel.
struct Normalization {
  Colour mean;
  Colour deviation;
};

class Transform {
 public:
  virtual ~Transform() = default;

  // Appends the steps for an image of this size, and sets `size` to the size of the result. Throws tenon::DataError if
  // the image cannot be transformed.
  virtual void draw(cv::Size& size, tenon::Random& random, Steps& steps) const = 0;

  // Returns the size of the result if it is the same for all images of the given size, or no value if sizes differ.
  virtual std::optional<cv::Size> output_size(std::optional<cv::Size> size) const { return size; }

  // Returns whether the transform is the same for all images of one size, in every epoch.
  virtual bool draws_nothing() const { return false; }

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
  std::unique_ptr<Transform> (*make)(const Arguments& arguments);  // throws TextError
};

// Returns all transforms, in the order of the documentation.
const std::vector<TransformKind>& all_transforms();

}  // namespace images
