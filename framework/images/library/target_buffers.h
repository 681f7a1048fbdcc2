// The targets of one image, from their descriptions to their moved values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/draft/images.h>

#include "framework/images/transforms/move_targets.h"
#include "framework/images/transforms/transform_chain.h"

namespace images {

// The result of one target. A thread reuses it.
struct MovedTarget {
  std::vector<uint8_t> mask;
  MovedRows rows;
  std::vector<int64_t> kept_images;  // for each row that remains, its image
  std::vector<int64_t> shape;
  bool is_mask = false;
};

// Throws tenon::Error (TENON_INVALID_ARGUMENT) naming the index of the target and what contradicts its description.
void check_target(const tenon_image_target& target, uint64_t index);

// Throws tenon::DataError naming the image and the row if a number is not finite, or a box ends before it begins.
void check_numbers(const tenon_image_target& target, const std::string& image);

// Appends the boxes of a target as left, top, right and bottom.
void append_boxes(const tenon_image_target& target, std::vector<float>& boxes);

// Throws tenon::Error (TENON_INVALID_ARGUMENT) unless both targets have one kind and layout, for images of one sample.
void check_same_layout(const tenon_image_target& first, const tenon_image_target& other, uint64_t index);

// One image of a sample and its motions to the result.
struct ImageMotion {
  cv::Size size;
  Motions motions;
  std::string image;                              // its location, for messages
  std::function<int()> find_orientation;          // EXIF of the image
  const SampledTransforms* transforms = nullptr;  // to its place in a mosaic, or to the result
  cv::Rect place = {};                            // on the canvas of a mosaic
};

struct SampleMotion {
  std::vector<ImageMotion> images;
  const SampledTransforms* of_canvas = nullptr;  // from the canvas of a mosaic to the result; null: no mosaic
};

// Moves one target of each image of a sample. The targets are checked. Throws tenon::DataError naming a mask that does
// not have the size of its image.
void move_targets(const std::vector<const tenon_image_target*>& targets, const SampleMotion& motion,
                  TransformBuffers& buffers, MovedTarget& moved);

// The type of the pixels of a mask with this dtype; -1: not supported.
int mask_type(int32_t dtype);

// The moved mask, without a copy.
cv::Mat mask_of(const tenon_image_target& target, MovedTarget& moved);
void set_mask(const cv::Mat& mask, MovedTarget& moved);

// Describes a moved target by the kind and layout of the target before. It borrows from both.
tenon_image_target describe_moved(const tenon_image_target& target, const MovedTarget& moved);

// Sets the shape from the number of values.
void set_shape_of_rows(const tenon_image_target& target, MovedTarget& moved);

// Moves a target that was moved before, with its image.
void move_again(const tenon_image_target& target, const SampledTransforms& transforms, TransformBuffers& buffers,
                MovedTarget& moved);

std::vector<std::pair<size_t, size_t>> pairs_of(const tenon_image_target& target);

}  // namespace images
