#include "framework/images/transforms/transform.h"

#include "framework/images/transforms/mosaic.h"

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
`scale=(0.08, 1)`. The definitions are those of torchvision's `transforms.v2` on 8-bit tensors, or of the
source that a transform names. Resizing with antialiasing gives the same bytes as Pillow 12. Errors in the list are reported before a run starts;
what a transform needs and a dataset does not pass, such as boxes, at the first sample.

- With `normalize`, a sample is a float32 tensor `[3, height, width]`. Without it, a sample is a uint8 tensor
  `[height, width, 3]`.
- `p` is the probability that a transform is applied to a sample. All other random values of the transform are sampled
  after that decision.
- Each sample has a separate seed, and each transform a separate random stream. Samples are therefore the same for any
  number of workers, and adding a transform does not change the random values of the others.
- The same transforms are applied to the mask or the second image of a sample. Masks, boxes, keypoints and polygons of
  [datasets that have them](../guides/your_image_dataset.md) move with the image, masks to the nearest pixel. Colour
  changes, noise, blurring and erasing do not change them.
- [Plugins](../guides/your_image_dataset.md#5-another-transform) can provide further transforms. `host describe transforms` lists
  them, too.
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

const std::vector<TransformKind>& all_transforms() {
  static const std::vector<TransformKind> kinds = [] {
    std::vector<TransformKind> list;
    for (const auto& kind : {mosaic_kind,          random_resized_crop_kind,  resize_kind,
                             center_crop_kind,     random_crop_kind,          letterbox_kind,
                             scale_jitter_kind,    random_zoom_out_kind,      random_iou_crop_kind,
                             horizontal_flip_kind, vertical_flip_kind,        random_rotation_kind,
                             random_affine_kind,   random_perspective_kind,   color_jitter_kind,
                             grayscale_kind,       gaussian_blur_kind,        gaussian_noise_kind,
                             clahe_kind,           coarse_dropout_kind,       rand_augment_kind,
                             auto_augment_kind,    trivial_augment_wide_kind, normalize_kind,
                             random_erasing_kind}) {
      list.push_back(kind());
    }
    return list;
  }();
  return kinds;
}

Argument probability(std::string default_value) {
  return {
      .name = "p", .default_value = std::move(default_value), .doc = "probability of being applied", .range = "[0, 1]"};
}

Argument size_argument(std::string doc) {
  return {.name = "size",
          .default_value = "",
          .doc = std::move(doc),
          .counts = {1, 2},
          .range = "[1, 65536]",
          .is_whole = true};
}

Argument interpolation_argument(std::string default_value, std::vector<std::string> words, std::string doc) {
  return {.name = "interpolation",
          .default_value = std::move(default_value),
          .doc = std::move(doc),
          .counts = {},
          .words = std::move(words)};
}

Argument antialias_argument() {
  return flag("antialias", "true",
              "whether to average pixels when downscaling, as Pillow does; false: interpolate between neighbours, as "
              "OpenCV does");
}

Argument fill_argument() {
  return {"fill", "0", "colour outside the image: one level, or red, green and blue", {1, 3}, "[0, 255]"};
}

Argument magnitude_bins_argument(std::string doc) {
  return {.name = "num_magnitude_bins",
          .default_value = "31",
          .doc = std::move(doc),
          .range = "[2, 1001]",
          .is_whole = true};
}

cv::Size size_from(const Arguments& arguments, std::string_view name) {
  const std::vector<double>& numbers = arguments.numbers(name);
  return {static_cast<int>(numbers.back()), static_cast<int>(numbers.front())};
}

Interpolation interpolation_from(const Arguments& arguments) {
  const std::string& word = arguments.word("interpolation");
  if (word == "nearest") return Interpolation::nearest;
  return word == "bicubic" ? Interpolation::bicubic : Interpolation::bilinear;
}

Antialias antialias_from(const Arguments& arguments) {
  return arguments.is_on("antialias") ? Antialias::yes : Antialias::no;
}

Colour colour_from(const std::vector<double>& numbers) {
  const auto channel = [&](size_t i) { return static_cast<float>(numbers.size() == 1 ? numbers[0] : numbers[i]); };
  return {channel(0), channel(1), channel(2)};
}

double draw_between(tenon::Random& random, std::pair<double, double> interval) {
  return interval.first + (interval.second - interval.first) * random.uniform();
}

std::string describe_transforms() {
  std::string text = std::string(kIntroduction) + "## Contents\n\n- [Presets](#presets)\n";
  for (const TransformKind& kind : all_transforms()) text += "- [" + kind.name + "](#" + kind.name + ")\n";
  text += "\n" + std::string(kPresets);
  for (const TransformKind& kind : all_transforms()) text += describe(kind);
  return text;
}

}  // namespace images
