#include "framework/images/transforms/mosaic.h"

#include <algorithm>
#include <cmath>

namespace images {
namespace {

cv::Size scaled_size(const MosaicSettings& settings, cv::Size size) {
  const double scale = static_cast<double>(settings.side) / std::max(size.width, size.height);
  const auto length = [&](int side) { return std::min(static_cast<int>(std::ceil(side * scale)), settings.side); };
  return scale == 1 ? size : cv::Size(length(size.width), length(size.height));
}

}  // namespace

std::array<Tile, kMosaicImages> place_tiles(const MosaicSettings& settings, cv::Point center,
                                            const std::array<cv::Size, kMosaicImages>& sizes) {
  const int canvas = 2 * settings.side;
  std::array<Tile, kMosaicImages> tiles;
  for (size_t i = 0; i < kMosaicImages; ++i) {
    const cv::Size scaled = scaled_size(settings, sizes[i]);
    const bool is_left = i % 2 == 0, is_upper = i < 2;
    // The corner of the image that lies at the centre of the canvas. The rest is cut off at the canvas.
    const int left = is_left ? std::max(center.x - scaled.width, 0) : center.x;
    const int top = is_upper ? std::max(center.y - scaled.height, 0) : center.y;
    const int right = is_left ? center.x : std::min(center.x + scaled.width, canvas);
    const int bottom = is_upper ? center.y : std::min(center.y + scaled.height, canvas);
    const cv::Rect place(left, top, right - left, bottom - top);
    const cv::Point start(is_left ? scaled.width - place.width : 0, is_upper ? scaled.height - place.height : 0);
    tiles[i] = {{{{}, sizes[i]}, scaled, {start, place.size()}, settings.interpolation, settings.antialias}, place};
  }
  return tiles;
}

cv::Point draw_mosaic_center(const MosaicSettings& settings, tenon::Random& random) {
  const auto place = [&] { return static_cast<int>(settings.side * (0.5 + random.uniform())); };
  const int y = place();
  return {place(), y};
}

MosaicSettings mosaic_settings(const Arguments& arguments) {
  return {arguments.integer("size"), colour_from(arguments.numbers("fill")), interpolation_from(arguments),
          antialias_from(arguments)};
}

TransformKind mosaic_kind() {
  return {
      "mosaic",
      "Combines the image with three samples of the dataset, drawn with replacement, around a random point of a "
      "canvas. "
      "It comes first in the list, and the canvas is twice as wide and high as `size`; usually a crop or a resize "
      "follows. For datasets that give access to their other samples.",
      "Bochkovskiy et al., \"YOLOv4: Optimal Speed and Accuracy of Object Detection\", arXiv:2004.10934; Ultralytics "
      "Mosaic",
      {{.name = "size",
        .default_value = "",
        .doc = "length that the longer side of each image is scaled to, in pixels",
        .range = "[2, 6688]",
        .is_whole = true},
       {"fill", "114", "colour of the rest of the canvas: one level, or red, green and blue", {1, 3}, "[0, 255]"},
       interpolation_argument("bilinear", {"nearest", "bilinear", "bicubic"}),
       antialias_argument(),
       probability("1")},
      nullptr};
}

}  // namespace images
