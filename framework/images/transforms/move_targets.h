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

// One step: x' = (matrix[0] * x + matrix[1] * y + matrix[2]) / w, y' = (matrix[3] * x + matrix[4] * y + matrix[5]) / w
// with w = matrix[6] * x + matrix[7] * y + 1, and the size of the image after it.
struct Motion {
  std::array<double, 8> matrix;
  cv::Size size;
  bool drops_outside_centers = false;

  cv::Point2d apply(cv::Point2d point) const {
    const double w = matrix[6] * point.x + matrix[7] * point.y + 1;
    return {(matrix[0] * point.x + matrix[1] * point.y + matrix[2]) / w,
            (matrix[3] * point.x + matrix[4] * point.y + matrix[5]) / w};
  }
  // A perspective with convex corners never mirrors an image.
  bool mirrors() const { return matrix[6] == 0 && matrix[7] == 0 && matrix[0] * matrix[4] < matrix[1] * matrix[3]; }
};

struct Motions {
  cv::Size size;  // of the image at first
  std::vector<Motion> steps;
};

// `steps`: geometry, from an image of this size.
Motions motions_of(const Steps& steps, cv::Size size);

enum class BoxFormat { xyxy, xywh, cxcywh };

// Rows that remain.
struct MovedRows {
  std::vector<float> values;
  std::vector<int64_t> kept_indices;  // for each, its row before
  std::vector<int64_t> lengths;       // of polygons: points of each
  std::vector<double> visible;        // for each, the part that remains; none for keypoints
  // Of rotated boxes: the corners of what remains of each, from its centre, in halves of its width and height.
  std::vector<std::vector<cv::Point2d>> outlines;
};

// What is outside of the image at first is clipped off. A row is dropped if less than `min_visibility` of the rest of
// its area remains, or nothing. The part that remains is the product over all steps, of the area within the image after
// a step by the area before clipping. `before`: of rows that were moved before, for their part that remains; the
// first clipping then counts, too.

// Returns left, top, right and bottom of each box.
std::vector<float> to_corners(std::span<const float> boxes, BoxFormat format);
std::vector<float> from_corners(std::span<const float> corners, BoxFormat format);

// boxes: four numbers each. They are clipped to the image after each step, as torchvision does, and a turned box
// becomes the smallest upright box around it.
MovedRows move_boxes(std::span<const float> boxes, BoxFormat format, double min_visibility, const Motions& motions,
                     const MovedRows* before = nullptr);

// boxes: centre x and y, width, height, and the angle in degrees, clockwise. They are not clipped. A box that becomes a
// parallelogram, by shear, perspective or different scales of x and y, is replaced by the rectangle of the same area
// along its width. Angles are from -90 to less than 90.
MovedRows move_rotated_boxes(std::span<const float> boxes, double min_visibility, const Motions& motions,
                             const MovedRows* before = nullptr);

// points: x and y of each, and with `numbers` 3 a number that is above 0 for a known point. `per_object`: points of an
// object. A mirrored image exchanges the points of each pair.
std::vector<float> move_keypoints(std::span<const float> points, size_t numbers, size_t per_object,
                                  const std::vector<std::pair<size_t, size_t>>& pairs, const Motions& motions);

// points: x and y of each. `lengths`: points of each polygon. They are clipped to the image after each step (Sutherland
// and Hodgman, "Reentrant polygon clipping", CACM 17(1), 1974).
MovedRows move_polygons(std::span<const float> points, std::span<const int64_t> lengths, double min_visibility,
                        const Motions& motions, const MovedRows* before = nullptr);

// Move rows in place, and clip and drop nothing.
void warp_boxes(std::span<float> corners, const Motion& motion);  // left, top, right and bottom of each
void warp_rotated_boxes(MovedRows& boxes, const Motion& motion);
void warp_points(std::span<float> points, size_t numbers, const Motion& motion);
// Exchanges the points of each pair.
void swap_pairs(std::span<float> points, size_t numbers, size_t per_object,
                const std::vector<std::pair<size_t, size_t>>& pairs);

}  // namespace images
