// random_resized_crop: C. Szegedy et al., "Going Deeper with Convolutions", CVPR 2015, section 6, with torchvision's
// ten attempts and its fallback (torchvision 0.26, v2.RandomResizedCrop).
#include <algorithm>
#include <cmath>

#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

class RandomResizedCrop final : public Transform {
 public:
  explicit RandomResizedCrop(const Arguments& arguments)
      : size_(size_from(arguments, "size")),
        scale_(arguments.interval("scale")),
        ratio_(arguments.interval("ratio")),
        interpolation_(interpolation_from(arguments)),
        is_random_interpolation_(arguments.word("interpolation") == "random"),
        antialias_(antialias_from(arguments)) {}

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const cv::Rect window = draw_window(size, random);
    Interpolation interpolation = interpolation_;
    if (is_random_interpolation_) interpolation = random.chance(0.5) ? Interpolation::bilinear : Interpolation::bicubic;
    steps.push_back(Resize{window, size_, {{0, 0}, size_}, interpolation, antialias_});
    size = size_;
  }

  std::optional<cv::Size> output_size(std::optional<cv::Size>) const override { return size_; }

 private:
  cv::Rect draw_window(cv::Size size, tenon::Random& random) const {
    const double area = static_cast<double>(size.width) * size.height;
    const std::pair<double, double> log_ratio = {std::log(ratio_.first), std::log(ratio_.second)};
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double target = area * draw_between(random, scale_);
      const double ratio = std::exp(draw_between(random, log_ratio));
      const double width = std::nearbyint(std::sqrt(target * ratio));
      const double height = std::nearbyint(std::sqrt(target / ratio));
      if (width < 1 || height < 1 || width > size.width || height > size.height) continue;
      const cv::Size window(static_cast<int>(width), static_cast<int>(height));
      const int y = static_cast<int>(random.integer(size.height - window.height + 1));
      const int x = static_cast<int>(random.integer(size.width - window.width + 1));
      return {{x, y}, window};
    }
    return largest_window(size);
  }

  // Returns the largest centred window with the nearest allowed ratio.
  cv::Rect largest_window(cv::Size size) const {
    cv::Size window = size;
    const double ratio = static_cast<double>(size.width) / size.height;
    const auto round = [](double length, int most) {
      return static_cast<int>(std::clamp(std::nearbyint(length), 1.0, static_cast<double>(most)));
    };
    if (ratio < ratio_.first) window.height = round(size.width / ratio_.first, size.height);
    if (ratio > ratio_.second) window.width = round(size.height * ratio_.second, size.width);
    return {{(size.width - window.width) / 2, (size.height - window.height) / 2}, window};
  }

  cv::Size size_;
  std::pair<double, double> scale_;
  std::pair<double, double> ratio_;
  Interpolation interpolation_;
  bool is_random_interpolation_;  // bilinear or bicubic, as in timm's RandomResizedCropAndInterpolation
  Antialias antialias_;
};

}  // namespace

TransformKind random_resized_crop_kind() {
  return {"random_resized_crop",
          "Crops a region of random area and aspect ratio at a random position, and resizes it to the given size.",
          "Szegedy et al., \"Going Deeper with Convolutions\", CVPR 2015; torchvision RandomResizedCrop",
          {size_argument("side of the square result, or its height and width, in pixels"),
           {.name = "scale",
            .default_value = "(0.08, 1)",
            .doc = "smallest and largest area, as a fraction of the image area",
            .counts = {2},
            .range = "(0, 1]"},
           {.name = "ratio",
            .default_value = "(0.75, 1.3333333333333333)",
            .doc = "smallest and largest width / height",
            .counts = {2},
            .range = "(0, inf)"},
           interpolation_argument("bilinear", {"nearest", "bilinear", "bicubic", "random"},
                                  "interpolation method; random: bilinear or bicubic, as in timm"),
           antialias_argument()},
          [](const Arguments& arguments) -> std::unique_ptr<Transform> {
            return std::make_unique<RandomResizedCrop>(arguments);
          }};
}

}  // namespace images
