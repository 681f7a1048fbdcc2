// Moves boxes, keypoints and polygons with an image. Coordinates are in pixels from the top left corner of the image,
// so that the first pixel covers 0 to 1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <opencv2/core/types.hpp>

#include "framework/images/transforms/step.h"

namespace images {

// One step: x' = matrix[0] * x + matrix[1] * y + matrix[2], y' = matrix[3] * x + matrix[4] * y + matrix[5], and the
// size of the image after it.
struct Motion {
  std::array<double, 6> matrix;
  cv::Size size;

  cv::Point2d apply(cv::Point2d point) const {
    return {matrix[0] * point.x + matrix[1] * point.y + matrix[2],
            matrix[3] * point.x + matrix[4] * point.y + matrix[5]};
  }
  bool mirrors() const { return matrix[0] * matrix[4] < matrix[1] * matrix[3]; }
};

// `steps`: geometry, from an image of this size.
std::vector<Motion> motions_of(const Steps& steps, cv::Size size);

enum class BoxFormat { xyxy, xywh, cxcywh };

// Rows that remain.
struct MovedRows {
  std::vector<float> values;
  std::vector<int64_t> kept;    // for each, its row before
  std::vector<int64_t> groups;  // of polygons: points of each
};

// A row is dropped if less than `least_visible` of its area remains, or nothing. The part that remains is the product
// over all steps, of the area within the image after a step by the area before clipping.

// boxes: four numbers each. They are clipped to the image after each step, as torchvision does, and a turned box
// becomes the smallest upright box around it.
MovedRows move_boxes(std::span<const float> boxes, BoxFormat format, double least_visible,
                     const std::vector<Motion>& motions);

// boxes: centre x and y, width, height, and the angle in degrees, clockwise. They are not clipped. A box that becomes a
// parallelogram, by shear or by different scales of x and y, is replaced by the rectangle of the same area along its
// width.
MovedRows move_rotated_boxes(std::span<const float> boxes, double least_visible, const std::vector<Motion>& motions);

// points: x and y of each, and with `numbers` 3 a number that is above 0 for a known point. `per_object`: points of an
// object. A mirrored image exchanges the points of each pair.
std::vector<float> move_keypoints(std::span<const float> points, size_t numbers, size_t per_object,
                                  const std::vector<std::pair<size_t, size_t>>& pairs,
                                  const std::vector<Motion>& motions);

// points: x and y of each. `lengths`: points of each polygon. They are clipped to the image after each step (Sutherland
// and Hodgman, "Reentrant polygon clipping", CACM 17(1), 1974).
MovedRows move_polygons(std::span<const float> points, std::span<const int64_t> lengths, double least_visible,
                        const std::vector<Motion>& motions);

}  // namespace images
