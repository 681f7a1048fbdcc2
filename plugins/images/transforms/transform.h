// A transform of the configuration: it draws, and so becomes steps.
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

// (value / 255 - mean) / deviation, by channel.
struct Normalization {
  Colour mean;
  Colour deviation;
};

class Transform {
 public:
  virtual ~Transform() = default;

  // Appends what this transform does to an image of that size, and makes `size` that of the result. Throws
  // tenon::DataError where the image cannot be transformed.
  virtual void draw(cv::Size& size, tenon::Random& random, Steps& steps) const = 0;

  // The size of the result where it is the same for all images that have the size given; no value: they differ.
  virtual std::optional<cv::Size> output_size(std::optional<cv::Size> size) const { return size; }

  // Whether it does the same to all images of one size, in each epoch.
  virtual bool draws_nothing() const { return false; }

  // Set for normalize alone, which draws nothing.
  virtual const Normalization* normalization() const { return nullptr; }

  // Whether it can work on normalised numbers, behind normalize; and whether on 8-bit pixels. Throws TextError if not.
  virtual void check_place(bool behind_normalize) const {
    if (behind_normalize) throw TextError("stands behind normalize; expected it before, where pixels have 8 bits");
  }
};

// What the configuration may name.
struct TransformKind {
  std::string name;
  std::string doc;     // one sentence
  std::string source;  // of the definition
  std::vector<Argument> arguments;
  std::unique_ptr<Transform> (*make)(const Arguments& arguments);  // throws TextError
};

// All of them, in the order of the documentation.
const std::vector<TransformKind>& all_transforms();

}  // namespace images
