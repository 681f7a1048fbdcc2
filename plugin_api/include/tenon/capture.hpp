// CUDA graphs, in C++. A model or loss that a CUDA graph can replay in training (capture.h has the conditions) defines:
//
//   bool is_capturable() const { return true; }
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "capture.h"
#include "detail/guard.hpp"

namespace tenon::detail {

template <class T, class = void>
inline constexpr bool has_is_capturable = false;
template <class T>
inline constexpr bool has_is_capturable<T, std::void_t<decltype(bool(std::declval<const T&>().is_capturable()))>> =
    true;

// The extension of a component. Owner::component(self) returns the T of an instance.
template <class T, class Owner>
struct TENON_HIDDEN CaptureExtension {
  static constexpr bool is_provided = has_is_capturable<T>;
  static constexpr std::string_view id = TENON_CAPTURE;

  static tenon_status is_capturable(void* self, uint32_t* result) {
    return guard([&] { *result = Owner::component(self).is_capturable() ? 1 : 0; });
  }

  static constexpr tenon_capture table = {sizeof(tenon_capture), &is_capturable};
};

}  // namespace tenon::detail
