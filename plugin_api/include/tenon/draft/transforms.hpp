// Transforms of images in C++, see transforms.h. Such a class defines
//
//   static std::vector<tenon::Param> schema();     // optional: the arguments, in their order
//   explicit T(const tenon::Params& params);       // or T()
//   // Called by several threads at the same time. The result depends only on the arguments of this function.
//   void apply(tenon::draft::MovingImage& image, tenon::Random& random) const;
//   static constexpr uint32_t moved_kinds = TENON_MOVES_ALL;   // optional: the targets that move; without it none
//   tenon::draft::ImageSize output_size(tenon::draft::ImageSize size) const;   // optional, see tenon_transform
//
// and is registered with tenon::draft::transform<T>("id", "one line"). A run file names it in the transforms of any
// image dataset: transforms = ["vignette(0.5, p=0.3)", "normalize()"].
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "../component.hpp"
#include "../detail/detect.hpp"
#include "../detail/instance.hpp"
#include "../random.hpp"
#include "transforms.h"

namespace tenon::draft {

struct ImageSize {
  int64_t height;  // -1: differs between images, or is not known
  int64_t width;
};

// A projective map of an image. The matrix leads from positions before to positions after, in three rows; see
// tenon_image_warp. {1, 0, 5, 0, 1, 0, 0, 0, 1} moves the image by 5 pixels to the right.
struct ImageWarp {
  std::array<double, 9> matrix;
  ImageSize size;  // of the image after it
  bool is_nearest = false;
  std::array<double, 3> fill = {0, 0, 0};  // red, green and blue outside of the image before, 0 to 255
};

// An image on its way through a list of transforms, and its targets. It is valid during apply().
class MovingImage {
 public:
  explicit MovingImage(tenon_moving_image* image) : image_(image) {}

  int64_t height() const { return image_->height; }
  int64_t width() const { return image_->width; }
  // C-contiguous [height, width, 3]: red, green and blue, to be changed in place.
  uint8_t* pixels() const { return image_->pixels; }

  size_t target_count() const { return static_cast<size_t>(image_->target_count); }
  // The values of a target may be changed, and rows dropped with `kept`.
  tenon_moving_target& target(size_t index) const { return *image_->targets[index]; }

  // Moves the image and all its targets. Throws Error for a transform without moved_kinds.
  void warp(const ImageWarp& warp) const {
    tenon_image_warp described = {};
    described.size = sizeof described;
    for (size_t i = 0; i < warp.matrix.size(); ++i) described.matrix[i] = warp.matrix[i];
    described.height = warp.size.height;
    described.width = warp.size.width;
    described.interpolation = warp.is_nearest ? TENON_WARP_NEAREST : TENON_WARP_BILINEAR;
    for (size_t i = 0; i < warp.fill.size(); ++i) described.fill[i] = warp.fill[i];
    tenon::detail::check(image_->warp(image_, &described));
  }

  // Replaces the image and its masks by empty ones of this size, see tenon_moving_image. The old pixels can be read
  // until the next call.
  void resize(ImageSize size) const { tenon::detail::check(image_->resize(image_, size.height, size.width)); }

 private:
  tenon_moving_image* image_;
};

namespace detail {

TENON_DETECT(moved_kinds, T::moved_kinds);
TENON_DETECT(output_size, std::declval<const T&>().output_size(std::declval<ImageSize>()));

template <class T>
struct TENON_HIDDEN TransformInstance : tenon::detail::PortableInstance {
  using Self = TransformInstance;

  explicit TransformInstance(const tenon_params* params) : component(tenon::detail::construct<T>(params)) {}

  // Const because all workers share the transform.
  void apply(tenon_moving_image* image, uint64_t seed) const {
    MovingImage moving(image);
    Random random(seed);
    component.apply(moving, random);
  }

  void output_size(int64_t* height, int64_t* width) const {
    const ImageSize size = component.output_size({*height, *width});
    *height = size.height;
    *width = size.width;
  }

  static constexpr tenon_transform make() {
    tenon_transform made = {};
    made.size = sizeof made;
    made.create = &tenon::detail::create<Self>;
    made.destroy = &tenon::detail::destroy<Self>;
    made.apply = &tenon::detail::call_member<Self, &Self::apply>;
    if constexpr (has_moved_kinds<T>) made.moved_kinds = T::moved_kinds;
    if constexpr (has_output_size<T>) made.output_size = &tenon::detail::call_member<Self, &Self::output_size>;
    return made;
  }

  const T component;

  static const tenon_transform table;
};

template <class T>
const tenon_transform TransformInstance<T>::table = TransformInstance<T>::make();

}  // namespace detail

// Registers T as the transform `id`.
template <class T>
Component transform(std::string id, std::string doc) {
  return tenon::detail::describe_component<T>(TENON_DRAFT_TRANSFORM, std::move(id), std::move(doc),
                                              &detail::TransformInstance<T>::table, nullptr);
}

}  // namespace tenon::draft
