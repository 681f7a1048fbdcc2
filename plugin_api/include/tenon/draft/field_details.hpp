// Details of a dataset's fields in C++, see field_details.h. Such a class defines
//
//   std::vector<tenon::draft::FieldDetail> field_details() const {
//     return {tenon::draft::boxes("boxes", "image", "classes"), tenon::draft::at_least("classes", 1)};
//   }
//
// and is registered with tenon::draft::detailed_dataset<T>("id", "one line").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../dataset.hpp"
#include "../detail/added_extension.hpp"
#include "field_details.h"

namespace tenon::draft {

struct FieldDetail {
  std::string field;
  uint32_t role = TENON_FIELD_NUMBERS;
  std::string image = {};    // field of the image; for each role but TENON_FIELD_NUMBERS
  std::string classes = {};  // for boxes: field with the class of each
  int64_t least_extent = 0;  // 0: no least size

  // A batch is padded to at least this size, along each extent of -1.
  FieldDetail at_least(int64_t extent) && {
    least_extent = extent;
    return std::move(*this);
  }

  tenon_field_detail describe() const {
    tenon_field_detail detail = {};
    detail.size = sizeof detail;
    detail.field = tenon::detail::borrow(field);
    detail.role = role;
    detail.image = tenon::detail::borrow(image);
    detail.classes = tenon::detail::borrow(classes);
    detail.least_extent = least_extent;
    return detail;
  }
};

// [M, 4]: left, top, right, bottom, in pixels of the image. `classes`: the field [M] with the class of each.
inline FieldDetail boxes(std::string field, std::string image, std::string classes = {}) {
  return {std::move(field), TENON_FIELD_BOXES, std::move(image), std::move(classes)};
}

// [..., 2] or [..., 3]: x and y in pixels of the image, and 0 for a point to leave out.
inline FieldDetail keypoints(std::string field, std::string image) {
  return {std::move(field), TENON_FIELD_KEYPOINTS, std::move(image)};
}

// Directions in the image.
inline FieldDetail angles(std::string field, std::string image) {
  return {std::move(field), TENON_FIELD_ANGLES, std::move(image)};
}

// A field of numbers that is padded to at least this size.
inline FieldDetail at_least(std::string field, int64_t extent) {
  return FieldDetail{std::move(field)}.at_least(extent);
}

namespace detail {

struct TENON_HIDDEN DetailList {
  using Item = FieldDetail;
  template <class T>
  static std::vector<Item> of(const T& dataset) {
    return dataset.field_details();
  }
};

template <class T>
using DetailedInstance = tenon::detail::WithList<tenon::detail::DatasetInstance<T>, DetailList>;

template <class T>
struct TENON_HIDDEN FieldDetailsExtension {
  static constexpr std::string_view id = TENON_FIELD_DETAILS;
  static constexpr tenon_field_details table = {sizeof(tenon_field_details),
                                                &DetailedInstance<T>::template hand_out<tenon_field_detail>};
};

}  // namespace detail

// Registers T as the dataset `id`.
template <class T>
Component detailed_dataset(std::string id, std::string doc) {
  Component made = dataset<T>(std::move(id), std::move(doc));
  made.table = &detail::DetailedInstance<T>::table;
  return tenon::detail::add_extension<T, detail::FieldDetailsExtension<T>>(std::move(made));
}

}  // namespace tenon::draft
