#include "framework/config/values/transform_presets.h"

namespace tenon::config {

const std::vector<TransformPreset>& transform_presets() {
  static const std::vector<TransformPreset> presets = {
      {"imagenet_train",
       "training of torchvision's ResNets (`IMAGENET1K_V1`) and of PyTorch's ImageNet example",
       {"random_resized_crop(224)", "horizontal_flip()", "normalize()"}},
      {"imagenet_eval",
       "evaluation of these; also the default of timm",
       {"resize(256)", "center_crop(224)", "normalize()"}},
      {"imagenet_v2_train",
       "training of torchvision's ResNets (`IMAGENET1K_V2`): TrivialAugment and random erasing",
       {"random_resized_crop(176)", "horizontal_flip()", "trivial_augment_wide(interpolation=bilinear)", "normalize()",
        "random_erasing(p=0.1)"}},
      {"imagenet_v2_eval", "evaluation of these", {"resize(232)", "center_crop(224)", "normalize()"}},
      {"timm_train",
       "training with the defaults of timm",
       {"random_resized_crop(224, interpolation=random)", "horizontal_flip()", "color_jitter(0.4, 0.4, 0.4)",
        "normalize()"}},
  };
  return presets;
}

std::span<const TransformPreset> presets_of(const ParamSchema& schema) {
  const bool has_name = schema.name == "transforms" || schema.name.ends_with("_transforms");
  if (!has_name || schema.type != ParamType::strings) return {};
  return transform_presets();
}

}  // namespace tenon::config
