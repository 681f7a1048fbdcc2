#include "framework/images/library/target_buffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <tenon/dtype.hpp>
#include <tenon/error.hpp>
#include <tenon/params.hpp>

namespace images {

int mask_type(int32_t dtype) {
  switch (dtype) {
    case TENON_UINT8: return CV_8UC1;
    case TENON_INT32: return CV_32SC1;
    case TENON_FLOAT32: return CV_32FC1;
    default: return -1;
  }
}

namespace {

struct KindRules {
  const char* name;
  uint32_t ndim;
  int64_t last_extent;  // 0: any
};

KindRules rules_of(uint32_t kind) {
  switch (kind) {
    case TENON_IMAGE_MASK: return {"mask", 2, 0};
    case TENON_IMAGE_BOXES: return {"boxes", 2, 4};
    case TENON_IMAGE_ROTATED_BOXES: return {"rotated boxes", 2, 5};
    case TENON_IMAGE_KEYPOINTS: return {"keypoints", 3, 0};
    case TENON_IMAGE_POLYGONS: return {"polygons", 2, 2};
    default: return {nullptr, 0, 0};
  }
}

std::string describe_shape(const tenon_image_target& target) {
  std::string text;
  for (uint32_t i = 0; i < target.ndim; ++i) text += (i == 0 ? "" : ", ") + std::to_string(target.shape[i]);
  return '[' + text + ']';
}

bool can_represent(int32_t dtype, double number) {
  if (!std::isfinite(number)) return false;
  if (dtype == TENON_FLOAT32) return std::abs(number) <= std::numeric_limits<float>::max();
  const bool is_whole = number == std::trunc(number);
  return dtype == TENON_UINT8 ? is_whole && number >= 0 && number <= 255
                              : is_whole && number >= INT32_MIN && number <= INT32_MAX;
}

std::string find_fault_of_lengths(const tenon_image_target& target, const std::string& name) {
  int64_t points = 0;
  for (uint64_t i = 0; i < target.length_count; ++i) {
    if (target.lengths[i] < 0 || target.lengths[i] > target.shape[0])
      return name + "has a polygon of " + std::to_string(target.lengths[i]) + " points; expected 0 to " +
             std::to_string(target.shape[0]);
    points += target.lengths[i];
  }
  if (points == target.shape[0]) return {};
  return name + "has polygons of " + std::to_string(points) + " points together; expected " +
         std::to_string(target.shape[0]) + ", as in its shape";
}

std::string find_fault_of_pairs(const tenon_image_target& target, const std::string& name) {
  for (uint64_t i = 0; i < 2 * target.pair_count; ++i)
    if (target.pairs[i] < 0 || target.pairs[i] >= target.shape[1])
      return name + "exchanges point " + std::to_string(target.pairs[i]) + "; expected points from 0 to " +
             std::to_string(target.shape[1] - 1);
  return {};
}

std::span<const float> values_of(const tenon_image_target& target) {
  size_t count = 1;
  for (uint32_t i = 0; i < target.ndim; ++i) count *= static_cast<size_t>(target.shape[i]);
  return {static_cast<const float*>(target.values), count};
}

// Returns what contradicts the description of the target, or "".
std::string find_fault(const tenon_image_target& target) {
  const KindRules rules = rules_of(target.kind);
  if (!rules.name) return "has the kind " + std::to_string(target.kind) + "; expected TENON_IMAGE_MASK or another one";
  const std::string name = std::string("(") + rules.name + ") ";
  if (!target.shape) return name + "has no shape";
  if (target.ndim != rules.ndim)
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
  if (target.kind == TENON_IMAGE_KEYPOINTS && last != 2 && last != 3)
    return name + "has the shape " + describe_shape(target) + "; expected 2 or 3 numbers for each point";
  const bool is_mask = target.kind == TENON_IMAGE_MASK;
  if (is_mask ? mask_type(target.dtype) < 0 : target.dtype != TENON_FLOAT32)
    return name + "has the dtype " + tenon::dtype_name(target.dtype) + "; expected " +
           (is_mask ? "uint8, int32 or float32" : "float32");
  if (count > 0 && !target.values) return name + "has no values";
  if (target.kind == TENON_IMAGE_BOXES && target.format > TENON_BOXES_CXCYWH)
    return name + "has the format " + std::to_string(target.format) + "; expected TENON_BOXES_XYXY or another one";
  if (!(target.min_visibility >= 0 && target.min_visibility <= 1))
    return name + "has min_visibility " + std::to_string(target.min_visibility) + "; expected a number from 0 to 1";
  if (is_mask && !can_represent(target.dtype, target.fill))
    return name + "has the fill " + std::to_string(target.fill) + ", which " + tenon::dtype_name(target.dtype) +
           " cannot represent";
  if ((target.length_count > 0 && !target.lengths) || (target.pair_count > 0 && !target.pairs))
    return name + "has no lengths or pairs; expected as many as their count";
  return target.kind == TENON_IMAGE_POLYGONS    ? find_fault_of_lengths(target, name)
         : target.kind == TENON_IMAGE_KEYPOINTS ? find_fault_of_pairs(target, name)
                                                : "";
}

// Returns the mask. Throws tenon::DataError unless it has the size of its image.
cv::Mat mask_of(const tenon_image_target& target, const ImageMotion& motion) {
  const cv::Size size(static_cast<int>(target.shape[1]), static_cast<int>(target.shape[0]));
  if (size == motion.size) return cv::Mat(size, mask_type(target.dtype), const_cast<void*>(target.values));
  const int orientation = motion.find_orientation();
  const std::string turned =
      orientation <= 1 ? ""
                       : " after it was turned upright by its EXIF orientation " + std::to_string(orientation) +
                             "; if the mask fits the pixels as stored, remove the orientation: exiftool "
                             "-Orientation= -overwrite_original FILE";
  const std::string place = target.place.size > 0 ? std::string(target.place.data, target.place.size) : "the mask";
  throw tenon::DataError(place + ": has " + describe_size(size) + " pixels; expected " + describe_size(motion.size) +
                         ", as " + motion.image + " has" + turned);
}

void move_masks(const std::vector<const tenon_image_target*>& targets, const SampleMotion& motion,
                TransformBuffers& buffers, MovedTarget& moved) {
  const double fill = targets.front()->fill;
  cv::Mat result;
  if (motion.of_canvas) {
    cv::Mat canvas(motion.of_canvas->image_size(), mask_type(targets.front()->dtype), cv::Scalar(fill));
    for (size_t i = 0; i < targets.size(); ++i) {
      const ImageMotion& image = motion.images[i];
      image.transforms->move_mask(mask_of(*targets[i], image), fill, buffers).copyTo(canvas(image.place));
    }
    result = motion.of_canvas->move_mask(canvas, fill, buffers);
  } else {
    const ImageMotion& image = motion.images.front();
    result = image.transforms->move_mask(mask_of(*targets.front(), image), fill, buffers);
  }
  set_mask(result, moved);
}

}  // namespace

void set_mask(const cv::Mat& mask, MovedTarget& moved) {
  const size_t row = static_cast<size_t>(mask.cols) * mask.elemSize();
  moved.mask.resize(row * static_cast<size_t>(mask.rows));
  for (int y = 0; y < mask.rows; ++y) std::memcpy(moved.mask.data() + row * static_cast<size_t>(y), mask.ptr(y), row);
  moved.shape = {mask.rows, mask.cols};
}

cv::Mat mask_of(const tenon_image_target& target, MovedTarget& moved) {
  return cv::Mat(static_cast<int>(moved.shape[0]), static_cast<int>(moved.shape[1]), mask_type(target.dtype),
                 moved.mask.data());
}

std::vector<std::pair<size_t, size_t>> pairs_of(const tenon_image_target& target) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (uint64_t i = 0; i < target.pair_count; ++i)
    pairs.emplace_back(static_cast<size_t>(target.pairs[2 * i]), static_cast<size_t>(target.pairs[2 * i + 1]));
  return pairs;
}

void check_target(const tenon_image_target& target, uint64_t index) {
  const std::string fault = find_fault(target);
  if (!fault.empty())
    throw tenon::Error(TENON_INVALID_ARGUMENT, "target " + std::to_string(index) + " of an image " + fault);
}

void check_numbers(const tenon_image_target& target, const std::string& image) {
  if (target.kind == TENON_IMAGE_MASK) return;
  const std::span<const float> values = values_of(target);
  const auto row_size = values.size() / std::max<size_t>(static_cast<size_t>(target.shape[0]), 1);
  const auto refuse = [&](size_t i, const std::string& expected) {
    const size_t row = i / row_size;
    std::string numbers;
    for (size_t k = row * row_size; k < (row + 1) * row_size; ++k)
      numbers += (numbers.empty() ? "" : ", ") + tenon::detail::print_toml(double{values[k]});
    throw tenon::DataError(image + ": row " + std::to_string(row) + " of its " + rules_of(target.kind).name + " is [" +
                           numbers + "]; expected " + expected);
  };
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) refuse(i, "finite numbers");
  const bool has_corners = target.kind == TENON_IMAGE_BOXES && target.format == TENON_BOXES_XYXY;
  for (size_t i = 0; target.kind == TENON_IMAGE_BOXES && i < values.size(); i += 4) {
    if (has_corners && (values[i + 2] < values[i] || values[i + 3] < values[i + 1]))
      refuse(i, "left <= right and top <= bottom; boxes of another format are passed with their format");
    if (!has_corners && (values[i + 2] < 0 || values[i + 3] < 0)) refuse(i, "a width and height of 0 or more");
  }
  for (size_t i = 0; target.kind == TENON_IMAGE_ROTATED_BOXES && i < values.size(); i += 5)
    if (values[i + 2] < 0 || values[i + 3] < 0) refuse(i, "a width and height of 0 or more");
}

void append_boxes(const tenon_image_target& target, std::vector<float>& boxes) {
  const std::vector<float> converted = to_corners(values_of(target), static_cast<BoxFormat>(target.format));
  boxes.insert(boxes.end(), converted.begin(), converted.end());
}

void check_same_layout(const tenon_image_target& first, const tenon_image_target& other, uint64_t index) {
  const bool has_rows = first.kind != TENON_IMAGE_MASK;
  const bool is_same = first.kind == other.kind && first.dtype == other.dtype && first.format == other.format &&
                       first.fill == other.fill &&
                       (!has_rows || std::equal(first.shape + 1, first.shape + first.ndim, other.shape + 1));
  if (is_same) return;
  throw tenon::Error(TENON_INVALID_ARGUMENT, "target " + std::to_string(index) +
                                                 " differs in its layout between the images of a sample; expected the "
                                                 "same kind, dtype, format, fill and number of columns for all");
}

namespace {

// `before`: see move_boxes().
MovedRows move_rows(const tenon_image_target& target, const Motions& motions, const MovedRows* before = nullptr) {
  const std::span<const float> values = values_of(target);
  const double least = target.min_visibility;
  switch (target.kind) {
    case TENON_IMAGE_BOXES: return move_boxes(values, static_cast<BoxFormat>(target.format), least, motions, before);
    case TENON_IMAGE_ROTATED_BOXES: return move_rotated_boxes(values, least, motions, before);
    case TENON_IMAGE_POLYGONS:
      return move_polygons(values, {target.lengths, target.length_count}, least, motions, before);
    default: break;
  }
  MovedRows rows;
  for (int64_t row = 0; row < target.shape[0]; ++row) rows.kept_indices.push_back(row);
  if (!values.empty())
    rows.values = move_keypoints(values, static_cast<size_t>(target.shape[2]), static_cast<size_t>(target.shape[1]),
                                 pairs_of(target), motions);
  return rows;
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& added) {
  all.insert(all.end(), added.begin(), added.end());
}

}  // namespace

void move_targets(const std::vector<const tenon_image_target*>& targets, const SampleMotion& motion,
                  TransformBuffers& buffers, MovedTarget& moved) {
  const tenon_image_target& first = *targets.front();
  moved.is_mask = first.kind == TENON_IMAGE_MASK;
  moved.rows = {};
  moved.kept_images.clear();
  if (moved.is_mask) return move_masks(targets, motion, buffers, moved);
  for (size_t i = 0; i < targets.size(); ++i) {
    const MovedRows rows = move_rows(*targets[i], motion.images[i].motions);
    append(moved.rows.values, rows.values);
    append(moved.rows.kept_indices, rows.kept_indices);
    append(moved.rows.lengths, rows.lengths);
    append(moved.rows.visible, rows.visible);
    append(moved.rows.outlines, rows.outlines);
    moved.kept_images.insert(moved.kept_images.end(), rows.kept_indices.size(), static_cast<int64_t>(i));
  }
  set_shape_of_rows(first, moved);
}

void set_shape_of_rows(const tenon_image_target& target, MovedTarget& moved) {
  moved.shape.assign(target.shape, target.shape + target.ndim);
  int64_t row_size = 1;
  for (uint32_t i = 1; i < target.ndim; ++i) row_size *= target.shape[i];
  moved.shape[0] = row_size > 0 ? static_cast<int64_t>(moved.rows.values.size()) / row_size
                                : static_cast<int64_t>(moved.rows.kept_indices.size());
}

tenon_image_target describe_moved(const tenon_image_target& target, const MovedTarget& moved) {
  tenon_image_target described = target;
  described.values = moved.is_mask ? static_cast<const void*>(moved.mask.data()) : moved.rows.values.data();
  described.shape = moved.shape.data();
  described.lengths = moved.rows.lengths.data();
  described.length_count = moved.rows.lengths.size();
  return described;
}

void move_again(const tenon_image_target& target, const SampledTransforms& transforms, TransformBuffers& buffers,
                MovedTarget& moved) {
  if (moved.is_mask) {
    const cv::Mat mask = mask_of(target, moved);
    const cv::Mat result = transforms.move_mask(mask, target.fill, buffers);
    if (result.data != mask.data) set_mask(result, moved);
    return;
  }
  const Motions motions = motions_of(transforms.geometry(), transforms.image_size());
  const tenon_image_target described = describe_moved(target, moved);
  MovedRows rows = move_rows(described, motions, &moved.rows);
  std::vector<int64_t> kept_images;
  for (int64_t& index : rows.kept_indices) {
    kept_images.push_back(moved.kept_images[static_cast<size_t>(index)]);
    index = moved.rows.kept_indices[static_cast<size_t>(index)];
  }
  moved.rows = std::move(rows);
  moved.kept_images = std::move(kept_images);
  set_shape_of_rows(target, moved);
}

}  // namespace images
