// horizontal_flip and vertical_flip: torchvision 0.26, v2.RandomHorizontalFlip and v2.RandomVerticalFlip.
#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

template <Flip kFlip>
class FlipTransform final : public Transform {
 public:
  static std::unique_ptr<Transform> make(const Arguments&) { return std::make_unique<FlipTransform>(); }

  void draw(cv::Size&, tenon::Random&, Steps& steps) const override { steps.push_back(kFlip); }
};

}  // namespace

TransformKind horizontal_flip_kind() {
  return {"horizontal_flip",
          "Flips the image left to right.",
          "torchvision RandomHorizontalFlip",
          {probability("0.5")},
          &FlipTransform<Flip::horizontal>::make};
}

TransformKind vertical_flip_kind() {
  return {"vertical_flip",
          "Flips the image top to bottom.",
          "torchvision RandomVerticalFlip",
          {probability("0.5")},
          &FlipTransform<Flip::vertical>::make};
}

}  // namespace images
