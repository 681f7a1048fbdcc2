// normalize: torchvision 0.26, v2.Normalize after v2.ToDtype(float32, scale=True).
#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

class NormalizeTransform final : public Transform {
 public:
  explicit NormalizeTransform(const Arguments& arguments)
      : normalization_{colour_from(arguments.numbers("mean")), colour_from(arguments.numbers("std"))} {}

  void draw(cv::Size&, tenon::Random&, Steps&) const override {}
  const Normalization* normalization() const override { return &normalization_; }

 private:
  Normalization normalization_;
};

}  // namespace

TransformKind normalize_kind() {
  // The ImageNet statistics that most published weights use.
  return {"normalize",
          "Converts uint8 to float32: divides by 255, subtracts the mean and divides by std. The sample becomes "
          "[3, height, width].",
          "torchvision Normalize, after ToDtype with scale=True",
          {{.name = "mean",
            .default_value = "(0.485, 0.456, 0.406)",
            .doc = "mean of all channels, or of red, green and blue, on the scale [0, 1]; ImageNet's by default",
            .counts = {1, 3}},
           {.name = "std",
            .default_value = "(0.229, 0.224, 0.225)",
            .doc = "standard deviation of all channels, or of red, green and blue; ImageNet's by default",
            .counts = {1, 3},
            .range = "(0, inf)"}},
          [](const Arguments& arguments) -> std::unique_ptr<Transform> {
            return std::make_unique<NormalizeTransform>(arguments);
          }};
}

}  // namespace images
