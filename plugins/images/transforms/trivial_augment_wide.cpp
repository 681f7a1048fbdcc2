// trivial_augment_wide: S. Müller and F. Hutter, "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation",
// ICCV 2021, arXiv:2103.10158, with the operations and magnitudes of torchvision 0.26, v2.TrivialAugmentWide.
#include "plugins/images/transforms/augment_operations.h"
#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

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

}  // namespace

TransformKind trivial_augment_wide_kind() {
  return {"trivial_augment_wide",
          "Applies one operation, sampled from fourteen, with a random magnitude.",
          "Müller and Hutter, \"TrivialAugment\", ICCV 2021, arXiv:2103.10158; torchvision TrivialAugmentWide",
          {magnitude_bins_argument("number of magnitudes to sample from"),
           interpolation_argument("nearest", {"nearest", "bilinear"}), fill_argument(), probability("1")},
          [](const Arguments& arguments) -> std::unique_ptr<Transform> {
            return std::make_unique<TrivialAugmentWide>(arguments);
          }};
}

}  // namespace images
