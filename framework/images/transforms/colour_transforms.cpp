// color_jitter: A. Howard, "Some Improvements on Deep Convolutional Neural Network Based Image Classification",
// arXiv:1312.5402, as in torchvision 0.26, v2.ColorJitter. grayscale: torchvision's Grayscale, and with p its
// RandomGrayscale. gaussian_blur: T. Chen et al., "A Simple Framework for Contrastive Learning of Visual
// Representations", ICML 2020, as in torchvision's GaussianBlur.
#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/images/transforms/transform.h"

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
  return {std::move(name), "0", std::move(doc), {1, 2}, std::move(range)};
}

// normalize: torchvision 0.26, v2.Normalize after v2.ToDtype(float32, scale=True).
class NormalizeTransform final : public Transform {
 public:
  explicit NormalizeTransform(const Arguments& arguments)
      : normalization_{colour_from(arguments.numbers("mean")), colour_from(arguments.numbers("std"))} {}

  void draw(cv::Size&, tenon::Random&, Steps&) const override {}
  const Normalization* normalization() const override { return &normalization_; }

 private:
  Normalization normalization_;
};

// random_erasing: Z. Zhong et al., "Random Erasing Data Augmentation", AAAI 2020, as in torchvision 0.26,
// v2.RandomErasing.
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

TransformKind color_jitter_kind() {
  return {
      "color_jitter",
      "Changes brightness, contrast, saturation and hue by random amounts, in random order.",
      "Howard, arXiv:1312.5402; torchvision ColorJitter",
      {jitter_argument("brightness", "factor: largest distance from 1, or smallest and largest", "[0, inf)"),
       jitter_argument("contrast", "likewise", "[0, inf)"), jitter_argument("saturation", "likewise", "[0, inf)"),
       jitter_argument("hue", "shift in turns of the colour circle: largest either way, or both ends", "[-0.5, 0.5]"),
       probability("1")},
      make_transform<ColorJitter>};
}

TransformKind grayscale_kind() {
  return {"grayscale",
          "Converts to grayscale with three equal channels.",
          "torchvision Grayscale and RandomGrayscale",
          {probability("1")},
          make_transform<GrayscaleTransform>};
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
           {"sigma", "(0.1, 2)", "standard deviation in pixels, or the smallest and the largest", {1, 2}, "(0, inf)"},
           probability("1")},
          make_transform<GaussianBlur>};
}

TransformKind normalize_kind() {
  // The ImageNet statistics that most published weights use.
  return {"normalize",
          "Converts uint8 to float32: divides by 255, subtracts the mean and divides by std. The sample becomes "
          "[3, height, width].",
          "torchvision Normalize, after ToDtype with scale=True",
          {{.name = "mean",
            .default_value = "(0.485, 0.456, 0.406)",
            .doc = "mean of all channels, or of red, green and blue, on the scale [0, 1]; ImageNet's by default",
            .counts = {1, 3}},
           {.name = "std",
            .default_value = "(0.229, 0.224, 0.225)",
            .doc = "standard deviation of all channels, or of red, green and blue; ImageNet's by default",
            .counts = {1, 3},
            .range = "(0, inf)"}},
          make_transform<NormalizeTransform>};
}

TransformKind random_erasing_kind() {
  return {"random_erasing",
          "Overwrites a random rectangle. It usually comes after normalize, where 0 is the mean colour.",
          "Zhong et al., \"Random Erasing Data Augmentation\", AAAI 2020; torchvision RandomErasing",
          {probability("0.5"),
           {"scale", "(0.02, 0.33)", "smallest and largest area, as a fraction of the image area", {2}, "(0, 1]"},
           {"ratio", "(0.3, 3.3)", "smallest and largest height / width", {2}, "(0, inf)"},
           {.name = "value",
            .default_value = "0",
            .doc = "one number for all channels, or red, green and blue: normalised after normalize, 0 to 255 before "
                   "it; random: normal noise, only after normalize",
            .counts = {1, 3},
            .words = {"random"}}},
          make_transform<RandomErasing>};
}

}  // namespace images
