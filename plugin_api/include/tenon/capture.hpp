// CUDA graphs, in C++. A model or loss that a CUDA graph can replay in training (capture.h has the conditions) defines:
//
//   bool is_capturable() const { return true; }
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "capture.h"
#include "detail/detect.hpp"
#include "detail/guard.hpp"

namespace tenon::detail {

TENON_DETECT(is_capturable, bool(std::declval<const T&>().is_capturable()));

// The extension of a component.
template <class T, class Instance>
struct TENON_HIDDEN CaptureExtension {
  static constexpr bool is_provided = has_is_capturable<T>;
  static constexpr std::string_view id = TENON_CAPTURE;

  static tenon_status is_capturable(void* self, uint32_t* result) {
    return guard([&] {
      const T& component = static_cast<Instance*>(self)->component;
      *result = component.is_capturable() ? 1 : 0;
    });
  }

  static constexpr tenon_capture table = {sizeof(tenon_capture), &is_capturable};
};

}  // namespace tenon::detail
