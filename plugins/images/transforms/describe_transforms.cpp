#include "plugins/images/transforms/describe_transforms.h"

#include "plugins/images/transforms/transform.h"

namespace images {
namespace {

const char* const kIntroduction = R"md(# Image transforms

Datasets of images take a list of transforms, which are done in this order:

```toml
[data.train.params]
transforms = ["random_resized_crop(224)", "horizontal_flip(p=0.5)", "color_jitter(brightness=0.4, hue=0.1)",
              "normalize()"]
```

Arguments stand in the order of the tables below, or behind their names; what has a default may be left out, and without
any argument the parentheses may be. Several numbers for one argument are written in parentheses: `scale=(0.08, 1)`. The
definitions are those of torchvision's `transforms.v2` on 8-bit tensors; scaling with antialiasing gives the bytes that
Pillow 12 gives. A mistake in the list is reported before a run starts.

- With `normalize` a sample is `[3, height, width]` of 32-bit floats; without it is `[height, width, 3]` of bytes.
- `p` is the probability that a transform is applied to a sample; what else is random in it is drawn after that.
- Each sample is drawn from its own seed, and each transform from a stream of its own: the same sample comes out for any
  number of workers, and another transform in the list does not change what the others draw.
- Where a mask or a second image belongs to a sample, the same is done to it. A mask is moved as the image is, to the
  nearest pixel; colours, blurring and erasing leave it as it is.
- A crop at the beginning, also behind `resize`, is decoded alone, and a JPEG no larger than needed.
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
  std::string text = kIntroduction;
  for (const TransformKind& kind : all_transforms()) text += describe(kind);
  return text;
}

}  // namespace images
