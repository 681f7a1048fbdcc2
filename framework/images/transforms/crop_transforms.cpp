// center_crop and random_crop: torchvision 0.26, v2.CenterCrop and v2.RandomCrop; the latter with padding as in He et
// al., "Deep Residual Learning for Image Recognition", CVPR 2016, section 4.2.
#include <algorithm>
#include <cmath>

#include <tenon/error.hpp>

#include "framework/images/transforms/transform.h"

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

// resize: torchvision 0.26, v2.Resize.
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

// random_resized_crop: C. Szegedy et al., "Going Deeper with Convolutions", CVPR 2015, section 6, with torchvision's
// ten attempts and its fallback (torchvision 0.26, v2.RandomResizedCrop).
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

TransformKind center_crop_kind() {
  return {"center_crop",
          "Crops the centre. Images smaller than the crop are padded with black.",
          "torchvision CenterCrop",
          {size_argument("side of the square, or height and width, in pixels")},
          make_transform<CenterCrop>};
}

TransformKind random_crop_kind() {
  return {"random_crop",
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
          make_transform<RandomCrop>};
}

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
          make_transform<ResizeTransform>};
}

TransformKind random_resized_crop_kind() {
  return {"random_resized_crop",
          "Crops a region of random area and aspect ratio at a random position, and resizes it to the given size.",
          "Szegedy et al., \"Going Deeper with Convolutions\", CVPR 2015; torchvision RandomResizedCrop",
          {size_argument("side of the square result, or its height and width, in pixels"),
           {"scale", "(0.08, 1)", "smallest and largest area, as a fraction of the image area", {2}, "(0, 1]"},
           {"ratio", "(0.75, 1.3333333333333333)", "smallest and largest width / height", {2}, "(0, inf)"},
           interpolation_argument("bilinear", {"nearest", "bilinear", "bicubic", "random"},
                                  "interpolation method; random: bilinear or bicubic, as in timm"),
           antialias_argument()},
          make_transform<RandomResizedCrop>};
}

}  // namespace images
