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
  // The statistics of ImageNet that most published weights were trained with.
  return {"normalize",
          "Makes 32-bit numbers of the 8-bit levels: divides by 255, subtracts, divides; the sample becomes "
          "[3, height, width].",
          "torchvision Normalize, after ToDtype with scale=True",
          {{.name = "mean",
            .default_value = "(0.485, 0.456, 0.406)",
            .doc = "subtracted from all channels, or from red, green and blue, in [0, 1]; by default ImageNet's",
            .counts = {1, 3}},
           {.name = "std",
            .default_value = "(0.229, 0.224, 0.225)",
            .doc = "then divided by; by default ImageNet's",
            .counts = {1, 3},
            .range = "(0, inf)"}},
          [](const Arguments& arguments) -> std::unique_ptr<Transform> {
            return std::make_unique<NormalizeTransform>(arguments);
          }};
}

}  // namespace images
