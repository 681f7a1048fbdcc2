// gaussian_noise: torchvision 0.29, v2.GaussianNoise. clahe and coarse_dropout: albumentations 2.0.8, CLAHE and
// CoarseDropout.
#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "framework/images/transforms/apply_step.h"
#include "framework/images/transforms/transform.h"

namespace images {
namespace {

class GaussianNoise final : public Transform {
 public:
  explicit GaussianNoise(const Arguments& arguments)
      : mean_(255 * arguments.number("mean")), deviation_(255 * arguments.number("sigma")) {}

  void draw(cv::Size&, tenon::Random& random, Steps& steps) const override {
    steps.push_back(Noise{mean_, deviation_, tenon::Random(random())});
  }

 private:
  double mean_;
  double deviation_;
};

class ClaheTransform final : public Transform {
 public:
  explicit ClaheTransform(const Arguments& arguments) {
    const std::vector<double>& limits = arguments.numbers("clip_limit");
    limits_ = limits.size() == 1 ? std::pair(1.0, limits[0]) : arguments.interval("clip_limit");
    if (limits_.first > limits_.second) arguments.refuse("clip_limit", "1 or more, or two numbers");
    tiles_ = size_from(arguments, "tile_grid_size");
  }

  void draw(cv::Size&, tenon::Random& random, Steps& steps) const override {
    steps.push_back(Clahe{draw_between(random, limits_), tiles_});
  }

 private:
  std::pair<double, double> limits_;
  cv::Size tiles_;
};

class CoarseDropout final : public Transform {
 public:
  explicit CoarseDropout(const Arguments& arguments)
      : holes_(arguments.interval("num_holes")),
        heights_(arguments.interval("hole_height")),
        widths_(arguments.interval("hole_width")),
        fill_(colour_from(arguments.numbers("fill"))) {}

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const auto least = static_cast<int64_t>(holes_.first);
    const int64_t holes = least + random.integer(static_cast<int64_t>(holes_.second) - least + 1);
    for (int64_t i = 0; i < holes; ++i) {
      // At least one pixel, as albumentations does.
      const int height = std::max(static_cast<int>(draw_between(random, heights_) * size.height), 1);
      const int width = std::max(static_cast<int>(draw_between(random, widths_) * size.width), 1);
      const int y = static_cast<int>(random.integer(size.height - height + 1));
      const int x = static_cast<int>(random.integer(size.width - width + 1));
      steps.push_back(Erase{{x, y, width, height}, fill_, tenon::Random(0)});
    }
  }

 private:
  std::pair<double, double> holes_;
  std::pair<double, double> heights_;
  std::pair<double, double> widths_;
  Colour fill_;
};

}  // namespace

void apply(const Noise& step, cv::Mat& image) {
  tenon::Random random = step.random;
  for (int y = 0; y < image.rows; ++y) {
    uint8_t* row = image.ptr<uint8_t>(y);
    for (int i = 0; i < 3 * image.cols; ++i) {
      const double noise = std::trunc(std::clamp(step.mean + step.deviation * random.normal(), -1000.0, 1000.0));
      row[i] = static_cast<uint8_t>(std::clamp(row[i] + static_cast<int>(noise), 0, 255));
    }
  }
}

void apply(const Clahe& step, cv::Mat& image) {
  cv::Mat lab, lightness, equalized;
  cv::cvtColor(image, lab, cv::COLOR_RGB2Lab);
  cv::extractChannel(lab, lightness, 0);
  cv::createCLAHE(step.clip_limit, step.tiles)->apply(lightness, equalized);
  cv::insertChannel(equalized, lab, 0);
  cv::cvtColor(lab, image, cv::COLOR_Lab2RGB);
}

TransformKind gaussian_noise_kind() {
  return {"gaussian_noise",
          "Adds normal noise to each channel of each pixel, and clips the result to 0 to 255.",
          "torchvision GaussianNoise",
          {{"mean", "0", "mean of the noise, on the scale [0, 1]", {1}, "[-1, 1]"},
           {"sigma", "0.1", "standard deviation of the noise, on the scale [0, 1]", {1}, "[0, 1]"},
           probability("1")},
          make_transform<GaussianNoise>};
}

TransformKind clahe_kind() {
  return {
      "clahe",
      "Equalizes the contrast of the lightness within tiles, up to a limit (CLAHE).",
      "Zuiderveld, \"Contrast Limited Adaptive Histogram Equalization\", Graphics Gems IV, 1994; albumentations CLAHE",
      {{"clip_limit", "4", "contrast limit: from 1 to this number, or smallest and largest", {1, 2}, "[1, 1000]"},
       {.name = "tile_grid_size",
        .default_value = "8",
        .doc = "number of tiles in both directions, or down and across",
        .counts = {1, 2},
        .range = "[1, 256]",
        .is_whole = true},
       probability("0.5")},
      make_transform<ClaheTransform>};
}

TransformKind coarse_dropout_kind() {
  return {"coarse_dropout",
          "Overwrites random rectangles with a colour.",
          "DeVries and Taylor, \"Improved Regularization of Convolutional Neural Networks with Cutout\", "
          "arXiv:1708.04552; albumentations CoarseDropout",
          {{.name = "num_holes",
            .default_value = "(1, 2)",
            .doc = "smallest and largest number of rectangles",
            .counts = {2},
            .range = "[1, 1000]",
            .is_whole = true},
           {"hole_height", "(0.1, 0.2)", "smallest and largest height, as a fraction of the image", {2}, "(0, 1]"},
           {"hole_width", "(0.1, 0.2)", "smallest and largest width, as a fraction of the image", {2}, "(0, 1]"},
           fill_argument(),
           probability("0.5")},
          make_transform<CoarseDropout>};
}

}  // namespace images
