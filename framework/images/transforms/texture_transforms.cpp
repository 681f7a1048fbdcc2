// gaussian_noise: torchvision 0.29, v2.GaussianNoise. clahe and coarse_dropout: albumentations 2.0.8, CLAHE and
// CoarseDropout.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "framework/images/transforms/apply_step.h"
#include "framework/images/transforms/transform.h"

namespace images {
namespace {

class GaussianNoise final : public Transform {
 public:
  explicit GaussianNoise(const Arguments& arguments)
      : table_(make_noise_table(255 * arguments.number("mean"), 255 * arguments.number("sigma"))) {}

  void draw(cv::Size&, tenon::Random& random, Steps& steps) const override {
    steps.push_back(Noise{table_, tenon::Random(random())});
  }

 private:
  std::shared_ptr<const NoiseTable> table_;
};

class ClaheTransform final : public Transform {
 public:
  explicit ClaheTransform(const Arguments& arguments) {
    const std::vector<double>& limits = arguments.numbers("clip_limit");
    limits_ = limits.size() == 1 ? std::pair(1.0, limits[0]) : arguments.interval("clip_limit");
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

// The distribution of the noise in whole levels, truncated towards 0, for sampling with the alias method (Walker,
// "An efficient method for generating discrete random variables with general distributions", ACM TOMS 3, 1977).
struct NoiseTable {
  static constexpr int kMost = 255;  // more has no other effect on 8-bit levels
  static constexpr size_t kSlots = 512;
  static constexpr int kBits = 23;  // of the fraction, after 9 bits that choose a slot

  std::array<uint32_t, kSlots> thresholds;  // of the fraction: below, the level of the slot, else that of the alias
  std::array<int16_t, kSlots> levels;
  std::array<int16_t, kSlots> aliases;

  int sample(uint32_t bits) const {
    const size_t slot = bits >> kBits;
    return (bits & ((1u << kBits) - 1)) < thresholds[slot] ? levels[slot] : aliases[slot];
  }
};

std::shared_ptr<const NoiseTable> make_noise_table(double mean, double deviation) {
  constexpr int kMost = NoiseTable::kMost;
  constexpr size_t kSlots = NoiseTable::kSlots;
  // The probability of less than `limit`.
  const auto below = [&](double limit) {
    if (deviation == 0) return mean < limit ? 1.0 : 0.0;
    return 0.5 * std::erfc((mean - limit) / (deviation * std::sqrt(2.0)));
  };
  std::array<double, kSlots> weights = {};  // times the number of slots
  double before = 0;
  for (int level = -kMost; level <= kMost; ++level) {
    // Numbers from -1 to 1 become 0.
    const double upto = level == kMost ? 1 : below(level < 0 ? std::nextafter(level, 1.0) : level + 1);
    weights[static_cast<size_t>(level + kMost)] = (upto - before) * kSlots;
    before = upto;
  }
  auto table = std::make_shared<NoiseTable>();
  std::vector<size_t> small, large;
  for (size_t i = 0; i < kSlots; ++i) {
    table->levels[i] = static_cast<int16_t>(std::min(static_cast<int>(i) - kMost, kMost));
    table->aliases[i] = table->levels[i];
    (weights[i] < 1 ? small : large).push_back(i);
  }
  std::fill(table->thresholds.begin(), table->thresholds.end(), 1u << NoiseTable::kBits);
  while (!small.empty() && !large.empty()) {
    const size_t low = small.back(), high = large.back();
    small.pop_back();
    table->thresholds[low] = static_cast<uint32_t>(std::lround(weights[low] * (1u << NoiseTable::kBits)));
    table->aliases[low] = table->levels[high];
    weights[high] -= 1 - weights[low];
    if (weights[high] < 1) {
      large.pop_back();
      small.push_back(high);
    }
  }
  return table;
}

void apply(const Noise& step, cv::Mat& image) {
  tenon::Random random = step.random;
  uint64_t bits = 0;
  bool has_half = false;
  for (int y = 0; y < image.rows; ++y) {
    uint8_t* row = image.ptr<uint8_t>(y);
    for (int i = 0; i < 3 * image.cols; ++i) {
      if (!has_half) bits = random();
      const int noise = step.table->sample(static_cast<uint32_t>(has_half ? bits >> 32 : bits));
      has_half = !has_half;
      row[i] = static_cast<uint8_t>(std::clamp(row[i] + noise, 0, 255));
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
           {"fill", "0", "colour of the rectangles: one level, or red, green and blue", {1, 3}, "[0, 255]"},
           probability("0.5")},
          make_transform<CoarseDropout>};
}

}  // namespace images
