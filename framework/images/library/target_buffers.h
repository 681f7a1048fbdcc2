// The targets of one image, from their descriptions to their moved values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tenon/draft/images.h>

#include "framework/images/transforms/move_targets.h"
#include "framework/images/transforms/transform_chain.h"

namespace images {

// The result of one target. A thread reuses it.
struct MovedTarget {
  std::vector<uint8_t> mask;
  MovedRows rows;
  std::vector<int64_t> shape;
  bool is_mask = false;
};

// Throws tenon::Error (TENON_INVALID_ARGUMENT) naming the index of the target and what contradicts its description.
void check_target(const tenon_image_target& target, uint64_t index);

// Throws tenon::DataError naming the image and the row if a number is not finite, or a box ends before it begins.
void check_numbers(const tenon_image_target& target, const std::string& image);

// Appends the boxes of a target as left, top, right and bottom.
void append_boxes(const tenon_image_target& target, std::vector<float>& boxes);

// The transforms and the motions of an image, for its targets.
struct TargetMotion {
  SampledTransforms transforms;
  Motions motions;
  std::string image;                      // its location, for messages
  std::function<int()> find_orientation;  // EXIF of the image
};

// Moves a checked target. Throws tenon::DataError naming a mask that does not have the size of the image.
void move_target(const tenon_image_target& target, const TargetMotion& motion, TransformBuffers& buffers,
                 MovedTarget& moved);

}  // namespace images
