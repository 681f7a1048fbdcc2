// random_erasing: Z. Zhong et al., "Random Erasing Data Augmentation", AAAI 2020, as in torchvision 0.26,
// v2.RandomErasing.
#include <algorithm>
#include <cmath>

#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

class RandomErasing final : public Transform {
 public:
  explicit RandomErasing(const Arguments& arguments)
      : scale_(arguments.interval("scale")), ratio_(arguments.interval("ratio")) {
    if (!arguments.is_word("value")) colour_ = colour_from(arguments.numbers("value"));
  }

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const double area = static_cast<double>(size.width) * size.height;
    const std::pair<double, double> log_ratio = {std::log(ratio_.first), std::log(ratio_.second)};
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double erased = area * draw_between(random, scale_);
      const double ratio = std::exp(draw_between(random, log_ratio));  // height / width, as in torchvision
      const double height = std::nearbyint(std::sqrt(erased * ratio));
      const double width = std::nearbyint(std::sqrt(erased / ratio));
      if (height >= size.height || width >= size.width) continue;
      const cv::Size part(static_cast<int>(width), static_cast<int>(height));
      const int y = static_cast<int>(random.integer(size.height - part.height + 1));
      const int x = static_cast<int>(random.integer(size.width - part.width + 1));
      steps.push_back(Erase{{{x, y}, part}, colour_, tenon::Random(random())});
      return;
    }
  }

  void check_place(bool after_normalize) const override {
    if (after_normalize) return;
    if (!colour_)
      throw TextError(
          "value is random before normalize; expected random_erasing after normalize, where noise has a meaning");
    const auto [least, most] = std::minmax_element(colour_->begin(), colour_->end());
    if (*least < 0 || *most > 255) {
      throw TextError(
          "value is outside [0, 255] before normalize; expected an 8-bit level, or random_erasing after normalize");
    }
  }

 private:
  std::pair<double, double> scale_;
  std::pair<double, double> ratio_;
  std::optional<Colour> colour_;
};

}  // namespace

TransformKind random_erasing_kind() {
  return {"random_erasing",
          "Overwrites a random rectangle. It usually comes after normalize, where 0 is the mean colour.",
          "Zhong et al., \"Random Erasing Data Augmentation\", AAAI 2020; torchvision RandomErasing",
          {probability("0.5"),
           {.name = "scale",
            .default_value = "(0.02, 0.33)",
            .doc = "smallest and largest area, as a fraction of the image area",
            .counts = {2},
            .range = "(0, 1]"},
           {.name = "ratio",
            .default_value = "(0.3, 3.3)",
            .doc = "smallest and largest height / width",
            .counts = {2},
            .range = "(0, inf)"},
           {.name = "value",
            .default_value = "0",
            .doc = "one number for all channels, or red, green and blue: normalised after normalize, 0 to 255 before "
                   "it; random: normal noise, only after normalize",
            .counts = {1, 3},
            .words = {"random"}}},
          [](const Arguments& arguments) -> std::unique_ptr<Transform> {
            return std::make_unique<RandomErasing>(arguments);
          }};
}

}  // namespace images
