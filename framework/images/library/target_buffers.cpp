#include "framework/images/library/target_buffers.h"

#include <cstring>
#include <utility>

#include <tenon/dtype.hpp>
#include <tenon/error.hpp>

namespace images {
namespace {

// The type of the pixels of a mask; -1: not supported.
int mask_type(int32_t dtype) {
  switch (dtype) {
    case TENON_UINT8: return CV_8UC1;
    case TENON_INT32: return CV_32SC1;
    case TENON_FLOAT32: return CV_32FC1;
    default: return -1;
  }
}

struct KindRules {
  const char* name;
  uint32_t ndim;
  int64_t last_extent;  // 0: any
};

KindRules rules_of(uint32_t kind) {
  switch (kind) {
    case TENON_TARGET_MASK: return {"mask", 2, 0};
    case TENON_TARGET_BOXES: return {"boxes", 2, 4};
    case TENON_TARGET_ROTATED_BOXES: return {"rotated boxes", 2, 5};
    case TENON_TARGET_KEYPOINTS: return {"keypoints", 3, 0};
    case TENON_TARGET_POLYGONS: return {"polygons", 2, 2};
    default: return {nullptr, 0, 0};
  }
}

std::string describe_shape(const tenon_image_target& target) {
  std::string text;
  for (uint32_t i = 0; i < target.ndim; ++i) text += (i == 0 ? "" : ", ") + std::to_string(target.shape[i]);
  return '[' + text + ']';
}

// Returns what contradicts the description of the target, or "".
std::string find_fault(const tenon_image_target& target) {
  const KindRules rules = rules_of(target.kind);
  if (!rules.name) return "has the kind " + std::to_string(target.kind) + "; expected TENON_TARGET_MASK or another one";
  const std::string name = std::string("(") + rules.name + ") ";
  if (target.ndim != rules.ndim || !target.shape)
    return name + "has " + std::to_string(target.ndim) + " dimensions; expected " + std::to_string(rules.ndim);
  int64_t count = 1;
  for (uint32_t i = 0; i < target.ndim; ++i) {
    if (target.shape[i] < 0 || target.shape[i] > INT32_MAX || count > INT32_MAX)
      return name + "has the shape " + describe_shape(target) + "; expected extents from 0 to 2147483647";
    count *= target.shape[i];
  }
  const int64_t last = target.shape[target.ndim - 1];
  if (rules.last_extent > 0 && last != rules.last_extent)
    return name + "has the shape " + describe_shape(target) + "; expected " + std::to_string(rules.last_extent) +
           " numbers in each row";
  if (target.kind == TENON_TARGET_KEYPOINTS && last != 2 && last != 3)
    return name + "has the shape " + describe_shape(target) + "; expected 2 or 3 numbers for each point";
  const bool is_mask = target.kind == TENON_TARGET_MASK;
  if (is_mask ? mask_type(target.dtype) < 0 : target.dtype != TENON_FLOAT32)
    return name + "has the dtype " + tenon::dtype_name(target.dtype) + "; expected " +
           (is_mask ? "uint8, int32 or float32" : "float32");
  if (count > 0 && !target.values) return name + "has no values";
  if (target.kind == TENON_TARGET_BOXES && target.format > TENON_BOXES_CXCYWH)
    return name + "has the format " + std::to_string(target.format) + "; expected TENON_BOXES_XYXY or another one";
  if (!(target.least_visible >= 0 && target.least_visible <= 1))
    return name + "has least_visible " + std::to_string(target.least_visible) + "; expected a number from 0 to 1";
  if (target.group_count > 0 && !target.groups) return name + "has no groups";
  if (target.kind == TENON_TARGET_POLYGONS) {
    int64_t points = 0;
    for (uint64_t i = 0; i < target.group_count; ++i) {
      if (target.groups[i] < 0 || target.groups[i] > target.shape[0])
        return name + "has a polygon of " + std::to_string(target.groups[i]) + " points; expected 0 to " +
               std::to_string(target.shape[0]);
      points += target.groups[i];
    }
    if (points != target.shape[0])
      return name + "has polygons of " + std::to_string(points) + " points together; expected " +
             std::to_string(target.shape[0]) + ", as in its shape";
  }
  if (target.kind == TENON_TARGET_KEYPOINTS) {
    for (uint64_t i = 0; i < 2 * target.group_count; ++i)
      if (target.groups[i] < 0 || target.groups[i] >= target.shape[1])
        return name + "exchanges point " + std::to_string(target.groups[i]) + "; expected points from 0 to " +
               std::to_string(target.shape[1] - 1);
  }
  return {};
}

cv::Size size_of_mask(const tenon_image_target& target) {
  return {static_cast<int>(target.shape[1]), static_cast<int>(target.shape[0])};
}

void move_mask(const tenon_image_target& target, const TargetMotion& motion, TransformBuffers& buffers,
               MovedTarget& moved) {
  const cv::Size size = size_of_mask(target);
  const cv::Size expected = motion.transforms.image_size();
  if (size != expected) {
    const std::string turned = motion.orientation <= 1
                                   ? ""
                                   : " after it was turned upright by its EXIF orientation " +
                                         std::to_string(motion.orientation) +
                                         "; if the mask fits the pixels as stored, remove the orientation: exiftool "
                                         "-Orientation= -overwrite_original FILE";
    const std::string place = target.place.size > 0 ? std::string(target.place.data, target.place.size) : "the mask";
    throw tenon::DataError(place + ": has " + describe_size(size) + " pixels; expected " + describe_size(expected) +
                           ", as " + motion.image + " has" + turned);
  }
  const cv::Mat mask(size, mask_type(target.dtype), const_cast<void*>(target.values));
  const cv::Mat result = motion.transforms.move_mask(mask, target.fill, buffers);
  const size_t row = static_cast<size_t>(result.cols) * result.elemSize();
  moved.mask.resize(row * static_cast<size_t>(result.rows));
  for (int y = 0; y < result.rows; ++y)
    std::memcpy(moved.mask.data() + row * static_cast<size_t>(y), result.ptr(y), row);
  moved.shape = {result.rows, result.cols};
}

std::vector<std::pair<size_t, size_t>> pairs_of(const tenon_image_target& target) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (uint64_t i = 0; i < target.group_count; ++i)
    pairs.emplace_back(static_cast<size_t>(target.groups[2 * i]), static_cast<size_t>(target.groups[2 * i + 1]));
  return pairs;
}

}  // namespace

void check_target(const tenon_image_target& target, uint64_t index) {
  const std::string fault = find_fault(target);
  if (!fault.empty())
    throw tenon::Error(TENON_INVALID_ARGUMENT, "target " + std::to_string(index) + " of an image " + fault);
}

void move_target(const tenon_image_target& target, const TargetMotion& motion, TransformBuffers& buffers,
                 MovedTarget& moved) {
  moved.is_mask = target.kind == TENON_TARGET_MASK;
  moved.rows = {};
  if (moved.is_mask) return move_mask(target, motion, buffers, moved);
  size_t count = 1;
  for (uint32_t i = 0; i < target.ndim; ++i) count *= static_cast<size_t>(target.shape[i]);
  const std::span<const float> values(static_cast<const float*>(target.values), count);
  moved.shape.assign(target.shape, target.shape + target.ndim);
  switch (target.kind) {
    case TENON_TARGET_BOXES:
      moved.rows = move_boxes(values, static_cast<BoxFormat>(target.format), target.least_visible, motion.motions);
      break;
    case TENON_TARGET_ROTATED_BOXES:
      moved.rows = move_rotated_boxes(values, target.least_visible, motion.motions);
      break;
    case TENON_TARGET_POLYGONS:
      moved.rows = move_polygons(values, {target.groups, target.group_count}, target.least_visible, motion.motions);
      break;
    default:
      if (count > 0)
        moved.rows.values = move_keypoints(values, static_cast<size_t>(target.shape[2]),
                                           static_cast<size_t>(target.shape[1]), pairs_of(target), motion.motions);
      return;
  }
  moved.shape[0] = static_cast<int64_t>(moved.rows.values.size()) / target.shape[1];
}

}  // namespace images
