#include "plugins/images/transforms/describe_transforms.h"

#include "plugins/images/transforms/transform.h"

namespace images {
namespace {

const char* const kIntroduction = R"md(# Image transforms

Image datasets take a list of transforms and apply them in the order of the list:

```toml
[data.train.params]
transforms = ["random_resized_crop(224)", "horizontal_flip(p=0.5)", "color_jitter(brightness=0.4, hue=0.1)",
              "normalize()"]
```

Pass arguments by position, in the order of the tables below, or by name. Arguments with a default can be left out.
Without any arguments, the parentheses can be left out too. Write several numbers for one argument in parentheses:
`scale=(0.08, 1)`. The definitions are those of torchvision's `transforms.v2` on 8-bit tensors. Resizing with
antialiasing gives the same bytes as Pillow 12. Errors in the list are reported before a run starts.

- With `normalize`, a sample is a float32 tensor `[3, height, width]`. Without it, a sample is a uint8 tensor
  `[height, width, 3]`.
- `p` is the probability that a transform is applied to a sample. All other random values of the transform are sampled
  after that decision.
- Each sample has a separate seed, and each transform a separate random stream. Samples are therefore the same for any
  number of workers, and adding a transform does not change the random values of the others.
- The same transforms are applied to the mask or the second image of a sample. A mask is moved with the image, to the
  nearest pixel. Colour changes, blurring and erasing do not change a mask.
- If the list starts with a crop, or with `resize` and a crop, only the cropped part is decoded. A JPEG is decoded no
  larger than needed.

)md";

const char* const kPresets = R"md(## Presets

The name of a preset stands for the transforms of a known recipe:

```toml
[data.train.params]
transforms = "imagenet_train"

[data.validation]
like = "train"

[data.validation.params]
transforms = "imagenet_eval"
```

`host --check` and `plan.toml` show the list. To change a size or to add a transform, copy the list. A preset never
changes.

| preset | recipe | transforms |
| --- | --- | --- |
| `imagenet_train` | training of torchvision's ResNets (`IMAGENET1K_V1`) and of PyTorch's ImageNet example | `random_resized_crop(224)`, `horizontal_flip()`, `normalize()` |
| `imagenet_eval` | evaluation of these; also the default of timm | `resize(256)`, `center_crop(224)`, `normalize()` |
| `imagenet_v2_train` | training of torchvision's ResNets (`IMAGENET1K_V2`): TrivialAugment and random erasing | `random_resized_crop(176)`, `horizontal_flip()`, `trivial_augment_wide(interpolation=bilinear)`, `normalize()`, `random_erasing(p=0.1)` |
| `imagenet_v2_eval` | evaluation of these | `resize(232)`, `center_crop(224)`, `normalize()` |
| `timm_train` | training with the defaults of timm | `random_resized_crop(224, interpolation=random)`, `horizontal_flip()`, `color_jitter(0.4, 0.4, 0.4)`, `normalize()` |
)md";

std::string describe(const Argument& argument) {
  const std::string default_value = argument.default_value.empty() ? "required" : "`" + argument.default_value + "`";
  return "| `" + argument.name + "` | " + argument.describe_values() + " | " + default_value + " | " + argument.doc +
         " |\n";
}

std::string describe(const TransformKind& kind) {
  std::string text = "\n## " + kind.name + "\n\n" + kind.doc + "\n\nSource: " + kind.source + ".\n";
  text += "\n| argument | values | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const Argument& argument : kind.arguments) text += describe(argument);
  return text;
}

}  // namespace

std::string describe_transforms() {
  std::string text = std::string(kIntroduction) + "## Contents\n\n- [Presets](#presets)\n";
  for (const TransformKind& kind : all_transforms()) text += "- [" + kind.name + "](#" + kind.name + ")\n";
  text += "\n" + std::string(kPresets);
  for (const TransformKind& kind : all_transforms()) text += describe(kind);
  return text;
}

}  // namespace images
