#include "framework/images/library/call_plugin_transform.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <tenon/detail/guard.hpp>
#include <tenon/error.hpp>

#include "framework/images/transforms/apply_step.h"
#include "framework/images/transforms/move_targets.h"

namespace images {
namespace {

using tenon::detail::guard;

constexpr int64_t kMostPixels = Limits().max_pixels;  // as in a chain of transforms

const char* name_of(uint32_t kind) {
  switch (kind) {
    case TENON_IMAGE_MASK: return "masks";
    case TENON_IMAGE_BOXES: return "boxes";
    case TENON_IMAGE_ROTATED_BOXES: return "rotated boxes";
    case TENON_IMAGE_KEYPOINTS: return "keypoints";
    default: return "polygons";
  }
}

// Removes the rows that are not kept. `sizes`: the number of values of each row.
void remove_rows(const std::vector<uint8_t>& kept, const std::vector<size_t>& sizes, MovedTarget& moved) {
  MovedRows& rows = moved.rows;
  const MovedRows before = std::exchange(rows, {});
  const std::vector<int64_t> images_before = std::exchange(moved.kept_images, {});
  size_t begin = 0;
  for (size_t row = 0; row < kept.size(); begin += sizes[row], ++row) {
    if (!kept[row]) continue;
    const auto values = before.values.begin() + static_cast<ptrdiff_t>(begin);
    rows.values.insert(rows.values.end(), values, values + static_cast<ptrdiff_t>(sizes[row]));
    rows.kept_indices.push_back(before.kept_indices[row]);
    rows.visible.push_back(before.visible[row]);
    if (!before.lengths.empty()) rows.lengths.push_back(before.lengths[row]);
    if (!before.outlines.empty()) rows.outlines.push_back(before.outlines[row]);
    moved.kept_images.push_back(images_before[row]);
  }
}

// One target during the call.
class TargetInCall {
 public:
  TargetInCall(const tenon_image_target& described, MovedTarget& moved) : described_(described), moved_(moved) {
    if (described.kind == TENON_IMAGE_BOXES) set_boxes(to_corners(moved.rows.values, format()));
    if (described.kind != TENON_IMAGE_MASK && described.kind != TENON_IMAGE_KEYPOINTS)
      kept_.assign(moved.rows.kept_indices.size(), 1);
    target_.size = sizeof target_;
    target_.kind = described.kind;
    target_.dtype = described.dtype;
    target_.ndim = described.ndim;
    target_.fill = described.fill;
    target_.pairs = described.pairs;
    target_.pair_count = described.pair_count;
    target_.lengths = moved.rows.lengths.data();
    target_.kept = kept_.data();
    target_.kept_count = kept_.size();
    refresh();
  }
  TargetInCall(const TargetInCall&) = delete;
  TargetInCall& operator=(const TargetInCall&) = delete;

  tenon_moving_target* get() { return &target_; }

  // The former pixels of a mask stay valid until the next call.
  void resize(cv::Size size) {
    if (moved_.is_mask) replace_mask(cv::Mat(size, mask_type(described_.dtype), cv::Scalar(described_.fill)));
  }

  void warp(const Perspective& step, const Motion& motion, TransformBuffers& buffers) {
    const std::span<float> values = moved_.rows.values;
    switch (described_.kind) {
      case TENON_IMAGE_MASK: {
        MovingImage moving(mask_of(described_, moved_), buffers);
        moving.apply_to_mask(step, described_.fill);
        return replace_mask(moving.get());
      }
      case TENON_IMAGE_BOXES: return warp_boxes(values, motion);
      case TENON_IMAGE_ROTATED_BOXES: return warp_rotated_boxes(moved_.rows, motion);
      case TENON_IMAGE_POLYGONS: return warp_points(values, 2, motion);
      default: break;
    }
    if (values.empty()) return;
    const auto numbers = static_cast<size_t>(moved_.shape[2]);
    warp_points(values, numbers, motion);
    if (motion.mirrors()) swap_pairs(values, numbers, static_cast<size_t>(moved_.shape[1]), pairs_of(described_));
  }

  // Takes what the transform wrote. `description`: of the transform, for messages.
  void finish(const std::string& description) {
    if (moved_.is_mask) return;
    if (std::count(kept_.begin(), kept_.end(), 0) > 0) remove_rows(kept_, row_sizes(), moved_);
    set_shape_of_rows(described_, moved_);
    tenon_image_target written = describe_moved(described_, moved_);
    written.format = TENON_BOXES_XYXY;
    try {
      check_numbers(written, description + ", apply: after it, an image");
    } catch (const tenon::DataError& error) {
      throw tenon::Error(TENON_FAILED, error.what());
    }
    if (described_.kind == TENON_IMAGE_BOXES) set_boxes(from_corners(moved_.rows.values, format()));
  }

 private:
  BoxFormat format() const { return static_cast<BoxFormat>(described_.format); }

  void set_boxes(std::vector<float> values) { moved_.rows.values = std::move(values); }

  std::vector<size_t> row_sizes() const {
    if (described_.kind != TENON_IMAGE_POLYGONS)
      return std::vector<size_t>(kept_.size(), static_cast<size_t>(described_.shape[1]));
    std::vector<size_t> sizes;
    for (const int64_t length : moved_.rows.lengths) sizes.push_back(2 * static_cast<size_t>(length));
    return sizes;
  }

  void replace_mask(const cv::Mat& mask) {
    former_.swap(moved_.mask);
    set_mask(mask, moved_);
    refresh();
  }

  void refresh() {
    target_.values = moved_.is_mask ? static_cast<void*>(moved_.mask.data()) : moved_.rows.values.data();
    target_.shape = moved_.shape.data();
  }

  const tenon_image_target& described_;
  MovedTarget& moved_;
  std::vector<uint8_t> former_;
  std::vector<uint8_t> kept_;
  tenon_moving_target target_ = {};
};

// The image during the call.
class ImageInCall {
 public:
  ImageInCall(const PluginTransform& transform, cv::Mat pixels, std::array<PixelBuffer, 2>& memory)
      : transform_(transform), memory_(memory), pixels_(std::move(pixels)) {}
  ImageInCall(const ImageInCall&) = delete;
  ImageInCall& operator=(const ImageInCall&) = delete;

  void add_target(const tenon_image_target& described, MovedTarget& moved) {
    if (transform_.moved_kinds() != 0 && (transform_.moved_kinds() & TENON_MOVES(described.kind)) == 0)
      throw tenon::Error(TENON_INVALID_ARGUMENT, transform_.description() + " does not move " +
                                                     name_of(described.kind) +
                                                     ", and this dataset has some; expected a transform that does, or "
                                                     "transforms without this one");
    pointers_.push_back(targets_.emplace_back(described, moved).get());
  }

  // Returns the new pixels.
  cv::Mat call(uint64_t seed) {
    const cv::Size before = pixels_.size();
    image_.size = sizeof image_;
    image_.context = this;
    image_.targets = pointers_.data();
    image_.target_count = pointers_.size();
    image_.resize = [](tenon_moving_image* image, int64_t height, int64_t width) {
      return guard([&] { from(image).resize(height, width); });
    };
    image_.warp = [](tenon_moving_image* image, const tenon_image_warp* warp) {
      return guard([&] { from(image).warp(*warp); });
    };
    refresh();
    transform_.apply(image_, seed);
    if (!PixelBuffer::is_guarded(pixels_))
      throw tenon::Error(TENON_FAILED,
                         transform_.description() + ", apply: wrote outside of the pixels of an image of " +
                             describe_size(pixels_.size()) + "; expected [height, width, 3] bytes from `pixels` on");
    check_size(before);
    for (TargetInCall& target : targets_) target.finish(transform_.description());
    return pixels_;
  }

 private:
  static ImageInCall& from(tenon_moving_image* image) { return *static_cast<ImageInCall*>(image->context); }

  [[noreturn]] void refuse(const std::string& what) const { throw tenon::Error(TENON_INVALID_ARGUMENT, what); }

  void require_moving(const char* function, int64_t height, int64_t width) const {
    if (transform_.moved_kinds() == 0)
      refuse(std::string(function) + ": " + transform_.description() +
             " declares that all pixels keep their places; expected moved_kinds with the targets that it moves, such "
             "as TENON_MOVES_ALL");
    if (height < 1 || width < 1 || height > kMostPixels || width > kMostPixels / height)
      refuse(std::string(function) + ": the size is " + std::to_string(height) + " x " + std::to_string(width) +
             "; expected extents of 1 or more, and at most " + std::to_string(kMostPixels) + " pixels");
  }

  void resize(int64_t height, int64_t width) {
    require_moving("resize", height, width);
    const cv::Size size(static_cast<int>(width), static_cast<int>(height));
    cv::Mat pixels = make_pixels(size);
    pixels.setTo(cv::Scalar(0, 0, 0));
    replace(pixels);
    for (TargetInCall& target : targets_) target.resize(size);
  }

  void warp(const tenon_image_warp& warp) {
    require_moving("warp", warp.height, warp.width);
    if (warp.size < sizeof warp) refuse("warp: its size is " + std::to_string(warp.size) + "; set its member size");
    if (warp.interpolation > TENON_WARP_NEAREST)
      refuse("warp: the interpolation is " + std::to_string(warp.interpolation) + "; expected TENON_WARP_...");
    const cv::Matx33d forward(warp.matrix);
    bool has_inverse = false;
    cv::Matx33d inverse = forward.inv(cv::DECOMP_LU, &has_inverse);
    const auto is_finite = [](double number) { return std::isfinite(number); };
    if (!has_inverse || !std::all_of(inverse.val, inverse.val + 9, is_finite) || inverse(2, 2) == 0 ||
        forward(2, 2) == 0)
      refuse("warp: the matrix has no inverse, or its last number is 0");
    if (!std::all_of(warp.fill, warp.fill + 3, is_finite)) refuse("warp: the fill is not finite");
    Perspective step = {};
    Motion motion = {};
    for (int i = 0; i < 8; ++i) {
      step.coefficients[static_cast<size_t>(i)] = inverse.val[i] / inverse.val[8];
      motion.matrix[static_cast<size_t>(i)] = forward.val[i] / forward.val[8];
    }
    step.size = motion.size = {static_cast<int>(warp.width), static_cast<int>(warp.height)};
    step.interpolation = warp.interpolation == TENON_WARP_NEAREST ? Interpolation::nearest : Interpolation::bilinear;
    for (size_t i = 0; i < 3; ++i) step.fill[i] = static_cast<float>(warp.fill[i]);
    cv::Mat result = make_pixels(step.size);
    images::warp(pixels_, step, result);
    replace(result);
    for (TargetInCall& target : targets_) target.warp(step, motion, buffers_);
  }

  // The former pixels stay valid until the next call.
  cv::Mat make_pixels(cv::Size size) {
    made_in_ ^= 1;
    return memory_[made_in_].make_guarded(size, CV_8UC3);
  }

  void replace(const cv::Mat& pixels) {
    pixels_ = pixels;
    refresh();
  }

  void refresh() {
    image_.pixels = pixels_.data;
    image_.height = pixels_.rows;
    image_.width = pixels_.cols;
  }

  void check_size(cv::Size before) const {
    if (transform_.moved_kinds() == 0) return;
    const std::optional<cv::Size> expected = transform_.output_size(before);
    if (expected && *expected != pixels_.size())
      throw tenon::Error(TENON_FAILED, transform_.description() + ", apply: an image of " + describe_size(before) +
                                           " pixels becomes one of " + describe_size(pixels_.size()) + "; expected " +
                                           describe_size(*expected) + ", as output_size returns");
  }

  const PluginTransform& transform_;
  std::array<PixelBuffer, 2>& memory_;
  size_t made_in_ = 0;
  cv::Mat pixels_;
  std::deque<TargetInCall> targets_;
  std::vector<tenon_moving_target*> pointers_;
  TransformBuffers buffers_;
  tenon_moving_image image_ = {};
};

}  // namespace

void call_plugin_transform(const PluginTransform& transform, uint64_t seed,
                           const std::vector<const tenon_image_target*>& described, std::vector<MovedTarget*>& moved,
                           cv::Mat& pixels, std::array<PixelBuffer, 2>& memory) {
  ImageInCall image(transform, pixels, memory);
  for (size_t i = 0; i < described.size(); ++i) image.add_target(*described[i], *moved[i]);
  pixels = image.call(seed);
}

}  // namespace images
