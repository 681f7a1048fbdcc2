// center_crop and random_crop: torchvision 0.26, v2.CenterCrop and v2.RandomCrop; the latter with padding as in He et
// al., "Deep Residual Learning for Image Recognition", CVPR 2016, section 4.2.
#include <algorithm>
#include <cmath>
#include <string>

#include <tenon/error.hpp>

#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

// Returns the start of a window of `length`. It is negative if the image is shorter and the window extends beyond both
// ends.
int center(int image, int length) {
  if (length > image) return -((length - image) / 2);
  return static_cast<int>(std::nearbyint((image - length) / 2.0));
}

class CenterCrop final : public Transform {
 public:
  explicit CenterCrop(const Arguments& arguments) : size_(size_from(arguments, "size")) {}

  void draw(cv::Size& size, tenon::Random&, Steps& steps) const override {
    const cv::Point start(center(size.width, size_.width), center(size.height, size_.height));
    if (size != size_) steps.push_back(Crop{{start, size_}, {0, 0, 0}});
    size = size_;
  }

  bool draws_nothing() const override { return true; }

  std::optional<cv::Size> output_size(std::optional<cv::Size>) const override { return size_; }

 private:
  cv::Size size_;
};

class RandomCrop final : public Transform {
 public:
  explicit RandomCrop(const Arguments& arguments)
      : size_(size_from(arguments, "size")),
        pads_if_needed_(arguments.is_on("pad_if_needed")),
        fill_(colour_from(arguments.numbers("fill"))) {
    // One number pads all sides; two pad left and right, top and bottom; four pad left, top, right, bottom.
    const std::vector<double>& padding = arguments.numbers("padding");
    for (size_t side = 0; side < 4; ++side) padding_[side] = static_cast<int>(padding[side % padding.size()]);
  }

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const auto [top, height] = pad(size.height, size_.height, padding_[1], padding_[3]);
    const auto [left, width] = pad(size.width, size_.width, padding_[0], padding_[2]);
    if (height < size_.height || width < size_.width) {
      throw tenon::DataError("an image of " + describe_size(size) + " pixels reaches random_crop, which crops " +
                             describe_size(size_) + "; put a resize before it, or add pad_if_needed=true");
    }
    const int y = static_cast<int>(random.integer(height - size_.height + 1)) - top;
    const int x = static_cast<int>(random.integer(width - size_.width + 1)) - left;
    steps.push_back(Crop{{{x, y}, size_}, fill_});
    size = size_;
  }

  std::optional<cv::Size> output_size(std::optional<cv::Size>) const override { return size_; }

 private:
  struct Padded {
    int before;
    int length;  // including the padding before and after
  };
  Padded pad(int length, int expected, int before, int after) const {
    const int padded = length + before + after;
    const int missing = pads_if_needed_ ? std::max(expected - padded, 0) : 0;
    return {before + missing, padded + 2 * missing};
  }

  cv::Size size_;
  std::array<int, 4> padding_;
  bool pads_if_needed_;
  Colour fill_;
};

}  // namespace

TransformKind center_crop_kind() {
  return {
      "center_crop",
      "Crops the centre. Images smaller than the crop are padded with black.",
      "torchvision CenterCrop",
      {size_argument("side of the square, or height and width, in pixels")},
      [](const Arguments& arguments) -> std::unique_ptr<Transform> { return std::make_unique<CenterCrop>(arguments); }};
}

TransformKind random_crop_kind() {
  return {
      "random_crop",
      "Crops a region at a random position, after optional padding.",
      "He et al., \"Deep Residual Learning for Image Recognition\", CVPR 2016; torchvision RandomCrop",
      {size_argument("side of the square, or height and width, in pixels"),
       {.name = "padding",
        .default_value = "0",
        .doc = "pixels of padding: on all sides; left and right, top and bottom; or left, top, right, bottom",
        .counts = {1, 2, 4},
        .range = "[0, 65536]",
        .is_whole = true},
       flag("pad_if_needed", "false", "whether to pad an image smaller than the crop; false: it ends the run"),
       fill_argument()},
      [](const Arguments& arguments) -> std::unique_ptr<Transform> { return std::make_unique<RandomCrop>(arguments); }};
}

}  // namespace images
