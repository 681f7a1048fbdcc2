// Conversions between arithmetic types that preserve the value: integers exactly, floating-point numbers to the nearest
// value of the target type.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>

#include "../abi.h"

namespace tenon::detail {

template <class T>
constexpr bool is_negative([[maybe_unused]] T value) {
  if constexpr (std::is_signed_v<T>) return value < T{};
  return false;
}

// Whether Integer can represent the integral part of the number.
template <class Integer, class Floating>
bool is_within(Floating value) {
  const Floating end = std::ldexp(Floating{1}, std::numeric_limits<Integer>::digits);
  return value >= (std::is_signed_v<Integer> ? -end : Floating{}) && value < end;
}

// Sets `out` to the value. Returns false if To cannot represent it. NaN stays NaN, and no finite number becomes
// infinite.
template <class To, class From>
bool convert_number(From value, To& out) {
  static_assert(std::is_arithmetic_v<To> && std::is_arithmetic_v<From>);
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!is_within<To>(value)) return false;
  }
  out = static_cast<To>(value);
  if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
    return std::isfinite(out) || !std::isfinite(value);
  } else if constexpr (std::is_integral_v<From> && std::is_floating_point_v<To>) {
    // The largest integers round up to a number that is out of range for From.
    return is_within<From>(out) && static_cast<From>(out) == value;
  } else {
    return static_cast<From>(out) == value && is_negative(out) == is_negative(value);
  }
}

template <class T>
std::string number_text(T value) {
  if constexpr (std::is_integral_v<T>) return std::to_string(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
  return text;
}

// Writes the number as an element of the dtype. Returns false if the dtype cannot represent it, or if the dtype has no
// C++ type.
template <class From>
bool write_number(From value, int32_t dtype, void* memory) {
  switch (dtype) {
    case TENON_UINT8: return convert_number(value, *static_cast<uint8_t*>(memory));
    case TENON_INT8: return convert_number(value, *static_cast<int8_t*>(memory));
    case TENON_INT16: return convert_number(value, *static_cast<int16_t*>(memory));
    case TENON_INT32: return convert_number(value, *static_cast<int32_t*>(memory));
    case TENON_INT64: return convert_number(value, *static_cast<int64_t*>(memory));
    case TENON_FLOAT32: return convert_number(value, *static_cast<float*>(memory));
    case TENON_FLOAT64: return convert_number(value, *static_cast<double*>(memory));
    case TENON_BOOL: return convert_number(value, *static_cast<bool*>(memory));
    default: return false;
  }
}

}  // namespace tenon::detail
