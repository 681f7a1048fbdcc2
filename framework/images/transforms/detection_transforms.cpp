// letterbox: Ultralytics 8.3, LetterBox. scale_jitter, random_zoom_out and random_iou_crop: torchvision 0.29,
// v2.ScaleJitter, v2.RandomZoomOut and v2.RandomIoUCrop.
#include <algorithm>
#include <cmath>

#include <tenon/error.hpp>

#include "framework/images/transforms/move_targets.h"
#include "framework/images/transforms/transform.h"

namespace images {
namespace {

// The size of an image that is scaled by `scale`, at least one pixel in both directions.
cv::Size scale_size(double width, double height) {
  const auto length = [](double exact) { return static_cast<int>(std::clamp(exact, 1.0, 1e9)); };
  return {length(width), length(height)};
}

void append_resize(cv::Size& size, cv::Size scaled, Interpolation interpolation, Antialias antialias, Steps& steps) {
  if (scaled != size) steps.push_back(Resize{{{0, 0}, size}, scaled, {{0, 0}, scaled}, interpolation, antialias});
  size = scaled;
}

class Letterbox final : public Transform {
 public:
  explicit Letterbox(const Arguments& arguments)
      : size_(size_from(arguments, "size")),
        interpolation_(interpolation_from(arguments)),
        antialias_(antialias_from(arguments)),
        fill_(colour_from(arguments.numbers("fill"))) {}

  void draw(cv::Size& size, tenon::Random&, Steps& steps) const override {
    const double scale =
        std::min(static_cast<double>(size_.width) / size.width, static_cast<double>(size_.height) / size.height);
    const cv::Size scaled = scale_size(std::nearbyint(size.width * scale), std::nearbyint(size.height * scale));
    append_resize(size, scaled, interpolation_, antialias_, steps);
    // One more pixel of an odd border is on the right and at the bottom.
    const cv::Point start((size_.width - scaled.width) / 2, (size_.height - scaled.height) / 2);
    if (scaled != size_) steps.push_back(Crop{{-start, size_}, fill_});
    size = size_;
  }

  bool draws_nothing() const override { return true; }
  std::optional<cv::Size> output_size(std::optional<cv::Size>) const override { return size_; }

 private:
  cv::Size size_;
  Interpolation interpolation_;
  Antialias antialias_;
  Colour fill_;
};

class ScaleJitter final : public Transform {
 public:
  explicit ScaleJitter(const Arguments& arguments)
      : target_(size_from(arguments, "size")),
        scale_(arguments.interval("scale")),
        interpolation_(interpolation_from(arguments)),
        antialias_(antialias_from(arguments)) {}

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const double fitting =
        std::min(static_cast<double>(target_.width) / size.width, static_cast<double>(target_.height) / size.height);
    const double scale = fitting * draw_between(random, scale_);
    append_resize(size, scale_size(size.width * scale, size.height * scale), interpolation_, antialias_, steps);
  }

  std::optional<cv::Size> output_size(std::optional<cv::Size>) const override { return std::nullopt; }

 private:
  cv::Size target_;
  std::pair<double, double> scale_;
  Interpolation interpolation_;
  Antialias antialias_;
};

class RandomZoomOut final : public Transform {
 public:
  explicit RandomZoomOut(const Arguments& arguments)
      : sides_(arguments.interval("side_range")), fill_(colour_from(arguments.numbers("fill"))) {}

  void draw(cv::Size& size, tenon::Random& random, Steps& steps) const override {
    const double side = draw_between(random, sides_);
    const cv::Size canvas = scale_size(size.width * side, size.height * side);
    const int left = static_cast<int>((canvas.width - size.width) * random.uniform());
    const int top = static_cast<int>((canvas.height - size.height) * random.uniform());
    if (canvas != size) steps.push_back(Crop{{{-left, -top}, canvas}, fill_});
    size = canvas;
  }

  std::optional<cv::Size> output_size(std::optional<cv::Size>) const override { return std::nullopt; }

 private:
  std::pair<double, double> sides_;
  Colour fill_;
};

class RandomIouCrop final : public Transform {
 public:
  explicit RandomIouCrop(const Arguments& arguments)
      : scale_(arguments.interval("scale")),
        ratio_(arguments.interval("ratio")),
        options_(arguments.numbers("sampler_options")),
        trials_(arguments.integer("trials")) {}

  bool needs_boxes() const override { return true; }

  void draw(cv::Size&, tenon::Random&, Steps&) const override {}

  void draw_with_boxes(cv::Size& size, std::span<const float> boxes, tenon::Random& random,
                       Steps& steps) const override {
    if (boxes.empty()) return;
    // torchvision draws without an end. An option below 1 that no crop can fulfil would then never return.
    constexpr int kMaxOptions = 100;
    for (int i = 0; i < kMaxOptions; ++i) {
      const double least = options_[static_cast<size_t>(random.integer(static_cast<int64_t>(options_.size())))];
      if (least >= 1) return;
      for (int trial = 0; trial < trials_; ++trial) {
        const std::optional<cv::Rect> window = draw_window(size, random);
        if (!window || !fits(*window, boxes, least)) continue;
        steps.push_back(Crop{*window, {0, 0, 0}, /*drops_outside_centers=*/true});
        size = window->size();
        return;
      }
    }
  }

  std::optional<cv::Size> output_size(std::optional<cv::Size>) const override { return std::nullopt; }

 private:
  std::optional<cv::Rect> draw_window(cv::Size size, tenon::Random& random) const {
    const int width = static_cast<int>(size.width * draw_between(random, scale_));
    const int height = static_cast<int>(size.height * draw_between(random, scale_));
    if (width < 1 || height < 1) return std::nullopt;
    const double ratio = static_cast<double>(width) / height;
    if (ratio < ratio_.first || ratio > ratio_.second) return std::nullopt;
    const int x = static_cast<int>((size.width - width) * random.uniform());
    const int y = static_cast<int>((size.height - height) * random.uniform());
    return cv::Rect(x, y, width, height);
  }

  // Whether at least one box with its centre in the window overlaps it enough.
  static bool fits(const cv::Rect& window, std::span<const float> boxes, double least) {
    for (size_t i = 0; i < boxes.size(); i += 4) {
      const float* box = &boxes[i];
      const double x = (box[0] + box[2]) / 2, y = (box[1] + box[3]) / 2;
      if (x <= window.x || y <= window.y || x >= window.br().x || y >= window.br().y) continue;
      const double across = std::min<double>(box[2], window.br().x) - std::max<double>(box[0], window.x);
      const double down = std::min<double>(box[3], window.br().y) - std::max<double>(box[1], window.y);
      const double area = (double{box[2]} - box[0]) * (double{box[3]} - box[1]);
      const double common = std::max(across, 0.0) * std::max(down, 0.0);
      if (common / (area + window.area() - common) >= least) return true;
    }
    return false;
  }

  std::pair<double, double> scale_;
  std::pair<double, double> ratio_;
  std::vector<double> options_;
  int trials_;
};

}  // namespace

TransformKind letterbox_kind() {
  return {"letterbox",
          "Resizes the whole image to fit into a size, keeps the aspect ratio, and fills the borders.",
          "Ultralytics LetterBox",
          {size_argument("side of the square result, or its height and width, in pixels"),
           {"fill", "114", "colour of the borders: one level, or red, green and blue", {1, 3}, "[0, 255]"},
           interpolation_argument("bilinear", {"nearest", "bilinear", "bicubic"}),
           antialias_argument()},
          make_transform<Letterbox>};
}

TransformKind scale_jitter_kind() {
  return {"scale_jitter",
          "Resizes to fit into a size times a random factor, and keeps the aspect ratio. Usually a random_crop with "
          "pad_if_needed=true follows.",
          "Ghiasi et al., \"Simple Copy-Paste is a Strong Data Augmentation Method for Instance Segmentation\", CVPR "
          "2021; torchvision ScaleJitter",
          {size_argument("side of the square, or height and width, in pixels, for the factor 1"),
           {"scale", "(0.1, 2)", "smallest and largest factor", {2}, "(0, 100]"},
           interpolation_argument("bilinear", {"nearest", "bilinear", "bicubic"}),
           antialias_argument()},
          make_transform<ScaleJitter>};
}

TransformKind random_zoom_out_kind() {
  return {"random_zoom_out",
          "Places the image at random on a larger canvas.",
          "Liu et al., \"SSD: Single Shot MultiBox Detector\", ECCV 2016; torchvision RandomZoomOut",
          {{"side_range", "(1, 4)", "smallest and largest side of the canvas, relative to the image", {2}, "[1, 100]"},
           fill_argument(),
           probability("0.5")},
          make_transform<RandomZoomOut>};
}

TransformKind random_iou_crop_kind() {
  return {
      "random_iou_crop",
      "Crops a random region that overlaps a box enough, and drops boxes with a centre outside. The image keeps its "
      "size if it has no boxes. For datasets that pass the boxes of their images.",
      "Liu et al., \"SSD: Single Shot MultiBox Detector\", ECCV 2016; torchvision RandomIoUCrop",
      {{"scale", "(0.3, 1)", "smallest and largest height and width, relative to the image", {2}, "(0, 1]"},
       {"ratio", "(0.5, 2)", "smallest and largest width / height", {2}, "(0, inf)"},
       {.name = "sampler_options",
        .default_value = "(0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)",
        .doc = "intersection over union of the crop with at least one box: one of these numbers, sampled for each "
               "image; 1: the image stays as it is",
        .counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
        .range = "[0, 1]"},
       {.name = "trials",
        .default_value = "40",
        .doc = "regions to try before another number is sampled; after 100 numbers the image stays as it is",
        .range = "[1, 1000]",
        .is_whole = true}},
      make_transform<RandomIouCrop>};
}

}  // namespace images
