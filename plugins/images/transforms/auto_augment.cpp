// auto_augment: E. Cubuk et al., "AutoAugment: Learning augmentation policies from data", CVPR 2019, arXiv:1805.09501,
// with the policies, operations and magnitudes of torchvision 0.26, v2.AutoAugment.
#include "plugins/images/transforms/augment_operations.h"
#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

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
          [](const Arguments& arguments) -> std::unique_ptr<Transform> {
            return std::make_unique<AutoAugment>(arguments);
          }};
}

}  // namespace images
