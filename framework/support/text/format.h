// fmt::format. LibTorch's headers may have another version of fmt than the system; cmake/torch_fmt.cpp compiles that one.
#pragma once

#include <fmt/format.h>

#include <type_traits>
template <class T>
T TENON_INT(T number) {
  static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>);
  return number;
}
