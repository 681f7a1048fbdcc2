#include "plugins/images/transforms/transform_kinds.h"

namespace images {

const std::vector<TransformKind>& all_transforms() {
  static const std::vector<TransformKind> kinds = [] {
    std::vector<TransformKind> list;
    for (const auto& kind : {random_resized_crop_kind, resize_kind, center_crop_kind, random_crop_kind,
                             horizontal_flip_kind, vertical_flip_kind, random_rotation_kind, random_affine_kind,
                             color_jitter_kind, grayscale_kind, gaussian_blur_kind, rand_augment_kind,
                             auto_augment_kind, trivial_augment_wide_kind, normalize_kind, random_erasing_kind}) {
      list.push_back(kind());
    }
    return list;
  }();
  return kinds;
}

}  // namespace images
