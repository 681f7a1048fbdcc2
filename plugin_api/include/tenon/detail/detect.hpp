// Detects the optional functions of a component.
#pragma once

#include <type_traits>
#include <utility>

// Defines has_NAME<T>: whether the expression compiles. It is in terms of T: `T::schema()`, or for a member function
// `std::declval<const T&>().decoding()`.
#define TENON_DETECT(name, expression)      \
  template <class T, class = void>          \
  inline constexpr bool has_##name = false; \
  template <class T>                        \
  inline constexpr bool has_##name<T, std::void_t<decltype(expression)>> = true
