// color_jitter: A. Howard, "Some Improvements on Deep Convolutional Neural Network Based Image Classification",
// arXiv:1312.5402, as in torchvision 0.26, v2.ColorJitter. grayscale: torchvision's Grayscale, and with p its
// RandomGrayscale. gaussian_blur: T. Chen et al., "A Simple Framework for Contrastive Learning of Visual
// Representations", ICML 2020, as in torchvision's GaussianBlur.
#include <algorithm>
#include <utility>

#include "plugins/images/transforms/transform_kinds.h"

namespace images {
namespace {

using Interval = std::optional<std::pair<double, double>>;

// A single number is the largest distance from `neutral`. Returns no value if nothing would change.
Interval jitter_interval(const Arguments& arguments, std::string_view name, double neutral, double least, double most) {
  const std::vector<double>& numbers = arguments.numbers(name);
  std::pair<double, double> interval;
  if (numbers.size() == 2) {
    interval = arguments.interval(name);
  } else {
    if (numbers[0] < 0) arguments.refuse(name, "0 or more, or two numbers");
    // A factor below 0 has no meaning, but a shift does.
    interval = {neutral == 0 ? -numbers[0] : std::max(neutral - numbers[0], 0.0), neutral + numbers[0]};
  }
  if (interval.first < least || interval.second > most) {
    arguments.refuse(name, neutral == 0 ? "within -0.5 and 0.5" : "0 or more");
  }
  if (interval.first == neutral && interval.second == neutral) return std::nullopt;
  return interval;
}

class ColorJitter final : public Transform {
 public:
  explicit ColorJitter(const Arguments& arguments)
      : brightness_(jitter_interval(arguments, "brightness", 1, 0, 1e9)),
        contrast_(jitter_interval(arguments, "contrast", 1, 0, 1e9)),
        saturation_(jitter_interval(arguments, "saturation", 1, 0, 1e9)),
        hue_(jitter_interval(arguments, "hue", 0, -0.5, 0.5)) {}

  void draw(cv::Size&, tenon::Random& random, Steps& steps) const override {
    std::array<int, 4> order = {0, 1, 2, 3};
    for (size_t i = 3; i > 0; --i) std::swap(order[i], order[static_cast<size_t>(random.integer(int64_t(i) + 1))]);
    std::array<std::optional<Step>, 4> sampled;
    if (brightness_) sampled[0] = Brightness{draw_between(random, *brightness_)};
    if (contrast_) sampled[1] = Contrast{draw_between(random, *contrast_)};
    if (saturation_) sampled[2] = Saturation{draw_between(random, *saturation_)};
    if (hue_) sampled[3] = Hue{draw_between(random, *hue_)};
    for (const int place : order) {
      const std::optional<Step>& step = sampled[static_cast<size_t>(place)];
      if (step) steps.push_back(*step);
    }
  }

 private:
  Interval brightness_;
  Interval contrast_;
  Interval saturation_;
  Interval hue_;
};

class GrayscaleTransform final : public Transform {
 public:
  void draw(cv::Size&, tenon::Random&, Steps& steps) const override { steps.push_back(Grayscale{}); }
};

class GaussianBlur final : public Transform {
 public:
  explicit GaussianBlur(const Arguments& arguments) : kernel_(size_from(arguments, "kernel")) {
    if (kernel_.width % 2 == 0 || kernel_.height % 2 == 0) arguments.refuse("kernel", "odd numbers");
    const std::vector<double>& sigma = arguments.numbers("sigma");
    sigma_ = sigma.size() == 1 ? std::pair(sigma[0], sigma[0]) : arguments.interval("sigma");
  }

  void draw(cv::Size&, tenon::Random& random, Steps& steps) const override {
    steps.push_back(Blur{kernel_, draw_between(random, sigma_)});
  }

 private:
  cv::Size kernel_;
  std::pair<double, double> sigma_;
};

Argument jitter_argument(std::string name, std::string doc, std::string range) {
  return {.name = std::move(name),
          .default_value = "0",
          .doc = std::move(doc),
          .counts = {1, 2},
          .range = std::move(range)};
}

}  // namespace

TransformKind color_jitter_kind() {
  return {
      "color_jitter",
      "Changes brightness, contrast, saturation and hue by random amounts, in random order.",
      "Howard, arXiv:1312.5402; torchvision ColorJitter",
      {jitter_argument("brightness", "factor: largest distance from 1, or smallest and largest", "[0, inf)"),
       jitter_argument("contrast", "likewise", "[0, inf)"), jitter_argument("saturation", "likewise", "[0, inf)"),
       jitter_argument("hue", "shift in turns of the colour circle: largest either way, or both ends", "[-0.5, 0.5]"),
       probability("1")},
      [](const Arguments& arguments) -> std::unique_ptr<Transform> {
        return std::make_unique<ColorJitter>(arguments);
      }};
}

TransformKind grayscale_kind() {
  return {"grayscale",
          "Converts to grayscale with three equal channels.",
          "torchvision Grayscale and RandomGrayscale",
          {probability("1")},
          [](const Arguments&) -> std::unique_ptr<Transform> { return std::make_unique<GrayscaleTransform>(); }};
}

TransformKind gaussian_blur_kind() {
  return {"gaussian_blur",
          "Blurs with a Gaussian kernel of random standard deviation.",
          "Chen et al., \"A Simple Framework for Contrastive Learning of Visual Representations\", ICML 2020; "
          "torchvision GaussianBlur",
          {{.name = "kernel",
            .default_value = "",
            .doc = "kernel size in pixels, odd: one number, or height and width",
            .counts = {1, 2},
            .range = "[1, 255]",
            .is_whole = true},
           {.name = "sigma",
            .default_value = "(0.1, 2)",
            .doc = "standard deviation in pixels, or the smallest and the largest",
            .counts = {1, 2},
            .range = "(0, inf)"},
           probability("1")},
          [](const Arguments& arguments) -> std::unique_ptr<Transform> {
            return std::make_unique<GaussianBlur>(arguments);
          }};
}

}  // namespace images
