// resize: torchvision 0.26, v2.Resize.
#include <algorithm>

#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

class ResizeTransform final : public Transform {
 public:
  explicit ResizeTransform(const Arguments& arguments)
      : interpolation_(interpolation_from(arguments)), antialias_(antialias_from(arguments)) {
    if (arguments.numbers("size").size() == 2) {
      fixed_ = size_from(arguments, "size");
    } else {
      shorter_ = arguments.integer("size");
    }
    if (arguments.is_word("max_size")) return;
    longest_ = arguments.integer("max_size");
    if (fixed_) arguments.refuse("max_size", "none where size has two numbers");
    if (longest_ <= shorter_) arguments.refuse("max_size", "more than size");
  }

  void draw(cv::Size& size, tenon::Random&, Steps& steps) const override {
    const cv::Size scaled = scaled_size(size);
    if (scaled != size) steps.push_back(Resize{{{0, 0}, size}, scaled, {{0, 0}, scaled}, interpolation_, antialias_});
    size = scaled;
  }

  bool draws_nothing() const override { return true; }

  std::optional<cv::Size> output_size(std::optional<cv::Size> size) const override {
    if (fixed_) return fixed_;
    if (size) return scaled_size(*size);
    return std::nullopt;
  }

 private:
  cv::Size scaled_size(cv::Size size) const {
    if (fixed_) return *fixed_;
    const double shorter = std::min(size.width, size.height);
    const double longer = std::max(size.width, size.height);
    int new_shorter = shorter_;
    // Far more than any image may have, but less than an int can hold. Later code checks the size.
    int new_longer = static_cast<int>(std::min(shorter_ * longer / shorter, 1e9));
    if (longest_ > 0 && new_longer > longest_) {
      new_shorter = std::max(static_cast<int>(static_cast<double>(longest_) * new_shorter / new_longer), 1);
      new_longer = longest_;
    }
    return size.width <= size.height ? cv::Size(new_shorter, new_longer) : cv::Size(new_longer, new_shorter);
  }

  std::optional<cv::Size> fixed_;
  int shorter_ = 0;
  int longest_ = 0;  // 0: any
  Interpolation interpolation_;
  Antialias antialias_;
};

}  // namespace

TransformKind resize_kind() {
  return {"resize",
          "Resizes the shorter side to a length and keeps the aspect ratio, or resizes to a height and width.",
          "torchvision Resize",
          {size_argument("length of the shorter side, or height and width, in pixels"),
           interpolation_argument("bilinear", {"nearest", "bilinear", "bicubic"}),
           {.name = "max_size",
            .default_value = "none",
            .doc = "maximum length of the longer side; a longer result is scaled down to it as a whole",
            .range = "[1, 65536]",
            .is_whole = true,
            .words = {"none"}},
           antialias_argument()},
          [](const Arguments& arguments) -> std::unique_ptr<Transform> {
            return std::make_unique<ResizeTransform>(arguments);
          }};
}

}  // namespace images
