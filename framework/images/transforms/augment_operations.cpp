#include "framework/images/transforms/augment_operations.h"

#include <cmath>

#include "framework/images/transforms/apply_step.h"
#include "framework/images/transforms/transform.h"

namespace images {
namespace {

double degrees(double tangent) { return std::atan(tangent) * (180.0 / 3.14159265358979323846); }

// Rounds ties to even, like torch.round.
int kept_bits(int dropped_bits, Magnitude magnitude) {
  const float divisor = static_cast<float>(magnitude.bins - 1) / static_cast<float>(dropped_bits);
  return static_cast<int>(std::nearbyint(8 - static_cast<float>(magnitude.bin) / divisor));
}

// rand_augment: E. Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced search space",
// NeurIPS 2020, with the operations and magnitudes of torchvision 0.26, v2.RandAugment.
class RandAugment final : public Transform {
 public:
  explicit RandAugment(const Arguments& arguments)
      : count_(arguments.integer("num_ops")),
        magnitude_{arguments.integer("magnitude"), arguments.integer("num_magnitude_bins")},
        style_{interpolation_from(arguments), colour_from(arguments.numbers("fill"))} {
    if (magnitude_.bin >= magnitude_.bins) arguments.refuse("magnitude", "less than num_magnitude_bins");
  }

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const AugmentRanges ranges = rand_augment_ranges(size);
    for (int i = 0; i < count_; ++i) {
      const auto operation = static_cast<AugmentOperation>(random.integer(kAugmentOperations));
      const bool reversed = is_signed(operation) && random.chance(0.5);
      append_operation(operation, magnitude_, reversed, ranges, style_, size, steps);
    }
  }

 private:
  int count_;
  Magnitude magnitude_;
  AugmentStyle style_;
};

// trivial_augment_wide: S. Müller and F. Hutter, "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation",
// ICCV 2021, arXiv:2103.10158, with the operations and magnitudes of torchvision 0.26, v2.TrivialAugmentWide.
class TrivialAugmentWide final : public Transform {
 public:
  explicit TrivialAugmentWide(const Arguments& arguments)
      : bins_(arguments.integer("num_magnitude_bins")),
        style_{interpolation_from(arguments), colour_from(arguments.numbers("fill"))} {}

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const auto operation = static_cast<AugmentOperation>(random.integer(kAugmentOperations));
    const Magnitude magnitude = {static_cast<int>(random.integer(bins_)), bins_};
    const bool reversed = is_signed(operation) && random.chance(0.5);
    append_operation(operation, magnitude, reversed, kWideAugmentRanges, style_, size, steps);
  }

 private:
  int bins_;
  AugmentStyle style_;
};

// auto_augment: E. Cubuk et al., "AutoAugment: Learning augmentation policies from data", CVPR 2019, arXiv:1805.09501,
// with the policies, operations and magnitudes of torchvision 0.26, v2.AutoAugment.
using enum AugmentOperation;

struct PolicyOperation {
  AugmentOperation operation;
  double probability;
  int magnitude = 0;  // of kBins
};
using SubPolicy = std::array<PolicyOperation, 2>;
using Policy = std::array<SubPolicy, 25>;

constexpr int kBins = 10;

// clang-format off
constexpr Policy kImagenet = {{
    {{{posterize, 0.4, 8}, {rotate, 0.6, 9}}},
    {{{solarize, 0.6, 5}, {auto_contrast, 0.6}}},
    {{{equalize, 0.8}, {equalize, 0.6}}},
    {{{posterize, 0.6, 7}, {posterize, 0.6, 6}}},
    {{{equalize, 0.4}, {solarize, 0.2, 4}}},
    {{{equalize, 0.4}, {rotate, 0.8, 8}}},
    {{{solarize, 0.6, 3}, {equalize, 0.6}}},
    {{{posterize, 0.8, 5}, {equalize, 1}}},
    {{{rotate, 0.2, 3}, {solarize, 0.6, 8}}},
    {{{equalize, 0.6}, {posterize, 0.4, 6}}},
    {{{rotate, 0.8, 8}, {color, 0.4, 0}}},
    {{{rotate, 0.4, 9}, {equalize, 0.6}}},
    {{{equalize, 0}, {equalize, 0.8}}},
    {{{invert, 0.6}, {equalize, 1}}},
    {{{color, 0.6, 4}, {contrast, 1, 8}}},
    {{{rotate, 0.8, 8}, {color, 1, 2}}},
    {{{color, 0.8, 8}, {solarize, 0.8, 7}}},
    {{{sharpness, 0.4, 7}, {invert, 0.6}}},
    {{{shear_x, 0.6, 5}, {equalize, 1}}},
    {{{color, 0.4, 0}, {equalize, 0.6}}},
    {{{equalize, 0.4}, {solarize, 0.2, 4}}},
    {{{solarize, 0.6, 5}, {auto_contrast, 0.6}}},
    {{{invert, 0.6}, {equalize, 1}}},
    {{{color, 0.6, 4}, {contrast, 1, 8}}},
    {{{equalize, 0.8}, {equalize, 0.6}}},
}};

constexpr Policy kCifar10 = {{
    {{{invert, 0.1}, {contrast, 0.2, 6}}},
    {{{rotate, 0.7, 2}, {translate_x, 0.3, 9}}},
    {{{sharpness, 0.8, 1}, {sharpness, 0.9, 3}}},
    {{{shear_y, 0.5, 8}, {translate_y, 0.7, 9}}},
    {{{auto_contrast, 0.5}, {equalize, 0.9}}},
    {{{shear_y, 0.2, 7}, {posterize, 0.3, 7}}},
    {{{color, 0.4, 3}, {brightness, 0.6, 7}}},
    {{{sharpness, 0.3, 9}, {brightness, 0.7, 9}}},
    {{{equalize, 0.6}, {equalize, 0.5}}},
    {{{contrast, 0.6, 7}, {sharpness, 0.6, 5}}},
    {{{color, 0.7, 7}, {translate_x, 0.5, 8}}},
    {{{equalize, 0.3}, {auto_contrast, 0.4}}},
    {{{translate_y, 0.4, 3}, {sharpness, 0.2, 6}}},
    {{{brightness, 0.9, 6}, {color, 0.2, 8}}},
    {{{solarize, 0.5, 2}, {invert, 0}}},
    {{{equalize, 0.2}, {auto_contrast, 0.6}}},
    {{{equalize, 0.2}, {equalize, 0.6}}},
    {{{color, 0.9, 9}, {equalize, 0.6}}},
    {{{auto_contrast, 0.8}, {solarize, 0.2, 8}}},
    {{{brightness, 0.1, 3}, {color, 0.7, 0}}},
    {{{solarize, 0.4, 5}, {auto_contrast, 0.9}}},
    {{{translate_y, 0.9, 9}, {translate_y, 0.7, 9}}},
    {{{auto_contrast, 0.9}, {solarize, 0.8, 3}}},
    {{{equalize, 0.8}, {invert, 0.1}}},
    {{{translate_y, 0.7, 9}, {auto_contrast, 0.9}}},
}};

constexpr Policy kSvhn = {{
    {{{shear_x, 0.9, 4}, {invert, 0.2}}},
    {{{shear_y, 0.9, 8}, {invert, 0.7}}},
    {{{equalize, 0.6}, {solarize, 0.6, 6}}},
    {{{invert, 0.9}, {equalize, 0.6}}},
    {{{equalize, 0.6}, {rotate, 0.9, 3}}},
    {{{shear_x, 0.9, 4}, {auto_contrast, 0.8}}},
    {{{shear_y, 0.9, 8}, {invert, 0.4}}},
    {{{shear_y, 0.9, 5}, {solarize, 0.2, 6}}},
    {{{invert, 0.9}, {auto_contrast, 0.8}}},
    {{{equalize, 0.6}, {rotate, 0.9, 3}}},
    {{{shear_x, 0.9, 4}, {solarize, 0.3, 3}}},
    {{{shear_y, 0.8, 8}, {invert, 0.7}}},
    {{{equalize, 0.9}, {translate_y, 0.6, 6}}},
    {{{invert, 0.9}, {equalize, 0.6}}},
    {{{contrast, 0.3, 3}, {rotate, 0.8, 4}}},
    {{{invert, 0.8}, {translate_y, 0, 2}}},
    {{{shear_y, 0.7, 6}, {solarize, 0.4, 8}}},
    {{{invert, 0.6}, {rotate, 0.8, 4}}},
    {{{shear_y, 0.3, 7}, {translate_x, 0.9, 3}}},
    {{{shear_x, 0.1, 6}, {invert, 0.6}}},
    {{{solarize, 0.7, 2}, {translate_y, 0.6, 7}}},
    {{{shear_y, 0.8, 4}, {invert, 0.8}}},
    {{{shear_x, 0.7, 9}, {translate_y, 0.8, 3}}},
    {{{shear_y, 0.8, 5}, {auto_contrast, 0.7}}},
    {{{shear_x, 0.7, 2}, {invert, 0.1}}},
}};
// clang-format on

const Policy& policy_from(const Arguments& arguments) {
  const std::string& word = arguments.word("policy");
  if (word == "cifar10") return kCifar10;
  return word == "svhn" ? kSvhn : kImagenet;
}

class AutoAugment final : public Transform {
 public:
  explicit AutoAugment(const Arguments& arguments)
      : policy_(policy_from(arguments)),
        style_{interpolation_from(arguments), colour_from(arguments.numbers("fill"))} {}

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const AugmentRanges ranges = rand_augment_ranges(size);
    const SubPolicy& sampled = policy_[static_cast<size_t>(random.integer(static_cast<int64_t>(policy_.size())))];
    for (const auto& [operation, probability, magnitude] : sampled) {
      if (!random.chance(probability)) continue;
      const bool reversed = is_signed(operation) && random.chance(0.5);
      append_operation(operation, {magnitude, kBins}, reversed, ranges, style_, size, steps);
    }
  }

 private:
  const Policy& policy_;
  AugmentStyle style_;
};

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
       magnitude_bins_argument("one more than the largest magnitude"),
       interpolation_argument("nearest", {"nearest", "bilinear"}),
       fill_argument(),
       probability("1")},
      make_transform<RandAugment>};
}

TransformKind trivial_augment_wide_kind() {
  return {"trivial_augment_wide",
          "Applies one operation, sampled from fourteen, with a random magnitude.",
          "Müller and Hutter, \"TrivialAugment\", ICCV 2021, arXiv:2103.10158; torchvision TrivialAugmentWide",
          {magnitude_bins_argument("number of magnitudes to sample from"),
           interpolation_argument("nearest", {"nearest", "bilinear"}), fill_argument(), probability("1")},
          make_transform<TrivialAugmentWide>};
}

TransformKind auto_augment_kind() {
  return {"auto_augment",
          "Applies two operations with learned probabilities and magnitudes, sampled from the 25 pairs of a policy.",
          "Cubuk et al., \"AutoAugment\", CVPR 2019, arXiv:1805.09501; torchvision AutoAugment",
          {{.name = "policy",
            .default_value = "imagenet",
            .doc = "data for which the pairs were learned",
            .counts = {},
            .words = {"imagenet", "cifar10", "svhn"}},
           interpolation_argument("nearest", {"nearest", "bilinear"}),
           fill_argument(),
           probability("1")},
          make_transform<AutoAugment>};
}

}  // namespace images
