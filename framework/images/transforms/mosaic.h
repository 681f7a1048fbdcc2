// mosaic: four images of a dataset on one canvas (Bochkovskiy et al., "YOLOv4", arXiv:2004.10934), with the arithmetic
// of Ultralytics 8.3, Mosaic.
#pragma once

#include <array>
#include <vector>

#include <opencv2/core/types.hpp>
#include <tenon/random.hpp>

#include "framework/images/transforms/transform.h"

namespace images {

constexpr size_t kMosaicImages = 4;

struct MosaicSettings {
  int side;  // of the square that the longer side of each image is scaled to; the canvas is twice as wide and high
  Colour fill;
  Interpolation interpolation;
  Antialias antialias;
};

// One image of a mosaic: how it is scaled and cut, and where it lies on the canvas.
struct Tile {
  Resize resize;
  cv::Rect place;
};

// Returns a tile for each image, around the point `center` of the canvas: top left, top right, bottom left, bottom
// right.
std::array<Tile, kMosaicImages> place_tiles(const MosaicSettings& settings, cv::Point center,
                                            const std::array<cv::Size, kMosaicImages>& sizes);

cv::Point draw_mosaic_center(const MosaicSettings& settings, tenon::Random& random);

TransformKind mosaic_kind();
MosaicSettings mosaic_settings(const Arguments& arguments);

}  // namespace images
