#include "plugins/images/transforms/augment_operations.h"

#include <cmath>

#include "plugins/images/transforms/warp.h"

namespace images {
namespace {

double degrees(double tangent) { return std::atan(tangent) * (180.0 / 3.14159265358979323846); }

// Rounds ties to even, like torch.round.
int kept_bits(int dropped_bits, Magnitude magnitude) {
  const float divisor = static_cast<float>(magnitude.bins - 1) / static_cast<float>(dropped_bits);
  return static_cast<int>(std::nearbyint(8 - static_cast<float>(magnitude.bin) / divisor));
}

}  // namespace

bool is_signed(AugmentOperation operation) {
  return operation >= AugmentOperation::shear_x && operation <= AugmentOperation::sharpness;
}

AugmentRanges rand_augment_ranges(cv::Size size) {
  return {.shear = 0.3,
          .translate_x = 150.0 / 331.0 * size.width,
          .translate_y = 150.0 / 331.0 * size.height,
          .rotate = 30,
          .factor = 0.9,
          .dropped_bits = 4};
}

// torch.linspace measures from the nearer end, and rounds once.
float linspace(float start, float end, Magnitude magnitude) {
  const double step = (end - start) / static_cast<float>(magnitude.bins - 1);
  if (magnitude.bin < magnitude.bins / 2) return static_cast<float>(start + step * magnitude.bin);
  return static_cast<float>(end - step * (magnitude.bins - magnitude.bin - 1));
}

void append_operation(AugmentOperation operation, Magnitude magnitude, bool reversed, const AugmentRanges& ranges,
                      const AugmentStyle& style, cv::Size size, Steps& steps) {
  const auto amount = [&](double largest) {
    const double value = linspace(0, static_cast<float>(largest), magnitude);
    return reversed ? -value : value;
  };
  const auto append_warp = [&](const Affine& affine, cv::Point2d center = {}) {
    steps.push_back(Warp{inverse_matrix(affine, center), size, style.interpolation, style.fill});
  };
  const cv::Point2d corner(-size.width / 2.0, -size.height / 2.0);
  using enum AugmentOperation;
  switch (operation) {
    case identity: return;
    case shear_x: return append_warp({.shear_x = degrees(amount(ranges.shear))}, corner);
    case shear_y: return append_warp({.shear_y = degrees(amount(ranges.shear))}, corner);
    case translate_x: return append_warp({.translate_x = std::trunc(amount(ranges.translate_x))});
    case translate_y: return append_warp({.translate_y = std::trunc(amount(ranges.translate_y))});
    case rotate: return append_warp({.angle = -amount(ranges.rotate)});
    case brightness: return steps.push_back(Brightness{1 + amount(ranges.factor)});
    case color: return steps.push_back(Saturation{1 + amount(ranges.factor)});
    case contrast: return steps.push_back(Contrast{1 + amount(ranges.factor)});
    case sharpness: return steps.push_back(Sharpness{1 + amount(ranges.factor)});
    case posterize: return steps.push_back(Posterize{kept_bits(ranges.dropped_bits, magnitude)});
    case solarize: return steps.push_back(Solarize{255.0 * linspace(1, 0, magnitude)});
    case auto_contrast: return steps.push_back(AutoContrast{});
    case equalize: return steps.push_back(Equalize{});
    case invert: return steps.push_back(Invert{});
  }
}

}  // namespace images
