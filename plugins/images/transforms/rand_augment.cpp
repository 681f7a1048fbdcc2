// rand_augment: E. Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced search space",
// NeurIPS 2020, with the operations and magnitudes of torchvision 0.26, v2.RandAugment.
#include "plugins/images/transforms/augment_operations.h"
#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

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
       magnitude_bins_argument("one more than the largest magnitude"),
       interpolation_argument("nearest", {"nearest", "bilinear"}),
       fill_argument(),
       probability("1")},
      [](const Arguments& arguments) -> std::unique_ptr<Transform> {
        return std::make_unique<RandAugment>(arguments);
      }};
}

}  // namespace images
