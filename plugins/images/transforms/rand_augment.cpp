// rand_augment: E. Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced search space",
// NeurIPS 2020, with the operations and magnitudes of torchvision 0.26, v2.RandAugment.
#include <cmath>

#include "plugins/images/transforms/transform_kinds.h"
#include "plugins/images/transforms/warp.h"

namespace images {
namespace {

enum class Operation {
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
  equalize
};
constexpr int kOperations = 14;

bool is_signed(Operation operation) { return operation >= Operation::shear_x && operation <= Operation::sharpness; }

double largest_magnitude(Operation operation, cv::Size size) {
  switch (operation) {
    case Operation::shear_x:
    case Operation::shear_y: return 0.3;
    case Operation::translate_x: return 150.0 / 331.0 * size.width;
    case Operation::translate_y: return 150.0 / 331.0 * size.height;
    case Operation::rotate: return 30;
    default: return 0.9;
  }
}

double degrees(double tangent) { return std::atan(tangent) * (180.0 / 3.14159265358979323846); }

class RandAugment final : public Transform {
 public:
  explicit RandAugment(const Arguments& arguments)
      : count_(arguments.integer("num_ops")),
        part_(arguments.number("magnitude") / (arguments.number("num_magnitude_bins") - 1)),
        interpolation_(interpolation_from(arguments)),
        fill_(colour_from(arguments.numbers("fill"))) {
    if (part_ > 1) arguments.refuse("magnitude", "less than num_magnitude_bins");
  }

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    for (int i = 0; i < count_; ++i) {
      const auto operation = static_cast<Operation>(random.integer(kOperations));
      double magnitude = part_ * largest_magnitude(operation, size);
      if (is_signed(operation) && random.chance(0.5)) magnitude = -magnitude;
      append(operation, magnitude, size, steps);
    }
  }

 private:
  void append(Operation operation, double magnitude, cv::Size size, Steps& steps) const {
    const cv::Point2d corner(-size.width / 2.0, -size.height / 2.0);
    switch (operation) {
      case Operation::identity: return;
      case Operation::shear_x: return append_warp({.shear_x = degrees(magnitude)}, corner, size, steps);
      case Operation::shear_y: return append_warp({.shear_y = degrees(magnitude)}, corner, size, steps);
      case Operation::translate_x: return append_warp({.translate_x = std::trunc(magnitude)}, {}, size, steps);
      case Operation::translate_y: return append_warp({.translate_y = std::trunc(magnitude)}, {}, size, steps);
      case Operation::rotate: return append_warp({.angle = -magnitude}, {}, size, steps);
      case Operation::brightness: return steps.push_back(Brightness{1 + magnitude});
      case Operation::color: return steps.push_back(Saturation{1 + magnitude});
      case Operation::contrast: return steps.push_back(Contrast{1 + magnitude});
      case Operation::sharpness: return steps.push_back(Sharpness{1 + magnitude});
      case Operation::posterize: return steps.push_back(Posterize{8 - static_cast<int>(std::nearbyint(4 * part_))});
      case Operation::solarize: return steps.push_back(Solarize{255 * (1 - part_)});
      case Operation::auto_contrast: return steps.push_back(AutoContrast{});
      case Operation::equalize: return steps.push_back(Equalize{});
    }
  }

  void append_warp(const Affine& affine, cv::Point2d center, cv::Size size, Steps& steps) const {
    steps.push_back(Warp{inverse_matrix(affine, center), size, interpolation_, fill_});
  }

  int count_;
  double part_;  // fraction of the largest magnitude
  Interpolation interpolation_;
  Colour fill_;
};

}  // namespace

TransformKind rand_augment_kind() {
  return {
      "rand_augment",
      "Applies several operations, each sampled from fourteen, all with the same magnitude.",
      "Cubuk et al., \"RandAugment\", NeurIPS 2020; torchvision RandAugment",
      {{.name = "num_ops", .default_value = "2", .doc = "number of operations", .range = "[0, 14]", .is_whole = true},
       {.name = "magnitude",
        .default_value = "9",
        .doc = "magnitude of all operations, from 0",
        .range = "[0, 1000]",
        .is_whole = true},
       {.name = "num_magnitude_bins",
        .default_value = "31",
        .doc = "one more than the largest magnitude",
        .range = "[2, 1001]",
        .is_whole = true},
       interpolation_argument("nearest", {"nearest", "bilinear"}),
       fill_argument(),
       probability("1")},
      [](const Arguments& arguments) -> std::unique_ptr<Transform> {
        return std::make_unique<RandAugment>(arguments);
      }};
}

}  // namespace images
