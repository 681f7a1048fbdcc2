// The operations that rand_augment, auto_augment and trivial_augment_wide choose from, with the definitions of
// torchvision 0.26, transforms/v2/_auto_augment.py.
#pragma once

#include "framework/images/transforms/step.h"

namespace images {

enum class AugmentOperation {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize,
  invert
};
constexpr int kAugmentOperations = 14;  // the operations to sample from: all but invert, which only policies use

// Returns whether the direction of the operation is random.
bool is_signed(AugmentOperation operation);

// The largest magnitudes.
struct AugmentRanges {
  double shear;        // tangent of the angle
  double translate_x;  // in pixels
  double translate_y;
  double rotate;     // in degrees
  double factor;     // of brightness, colour, contrast and sharpness: distance from 1
  int dropped_bits;  // by posterize
};

// The ranges of RandAugment and AutoAugment for an image of this size.
AugmentRanges rand_augment_ranges(cv::Size size);
// The ranges of TrivialAugmentWide.
constexpr AugmentRanges kWideAugmentRanges = {
    .shear = 0.99, .translate_x = 32, .translate_y = 32, .rotate = 135, .factor = 0.99, .dropped_bits = 6};

// One of `bins` equal steps from no change to the largest magnitude. REQUIRES: 0 <= bin < bins, bins >= 2.
struct Magnitude {
  int bin;
  int bins;
};

// Returns element `bin` of torch.linspace(start, end, bins), in single precision as there.
float linspace(float start, float end, Magnitude magnitude);

struct AugmentStyle {
  Interpolation interpolation;
  Colour fill;
};

// Appends the steps of one operation. `reversed` inverts the direction of a signed operation.
void append_operation(AugmentOperation operation, Magnitude magnitude, bool reversed, const AugmentRanges& ranges,
                      const AugmentStyle& style, cv::Size size, Steps& steps);

}  // namespace images
