// Element types for C++ types, and the names of dtypes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "abi.h"

namespace tenon {

// The dtype of tensors and fields with elements of the C++ type T.
template <class T>
constexpr int32_t dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return TENON_BOOL;
  } else if constexpr (std::is_same_v<T, float>) {
    return TENON_FLOAT32;
  } else if constexpr (std::is_same_v<T, double>) {
    return TENON_FLOAT64;
  } else {
    static_assert(std::is_integral_v<T> && (std::is_signed_v<T> || sizeof(T) == 1),
                  "elements are bool, float, double, uint8_t or signed integers; other types go through raw_slot()");
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? TENON_INT8 : TENON_UINT8;
    if constexpr (sizeof(T) == 2) return TENON_INT16;
    if constexpr (sizeof(T) == 4) return TENON_INT32;
    return TENON_INT64;
  }
}

// Returns the name of the dtype, such as "float32".
inline const char* dtype_name(int32_t dtype) {
  constexpr const char* kNames[] = {"none",     "uint8",   "int8",    "int16", "int32",     "int64",     "float16",
                                    "bfloat16", "float32", "float64", "bool",  "complex64", "complex128"};
  return dtype >= 0 && dtype <= TENON_COMPLEX128 ? kNames[dtype] : "an unknown dtype";
}

// The dtypes that a port accepts or returns: TENON_ANY_FLOAT, a union of sets such as TENON_DTYPE_BIT(TENON_INT32) |
// TENON_DTYPE_BIT(TENON_INT64), or one dtype such as TENON_INT64. The number of a dtype, as dtype_of<T>() returns it,
// is no set of dtypes and does not compile: use TENON_DTYPE_BIT(dtype_of<T>()).
class Dtypes {
 public:
  constexpr Dtypes() : bits_(TENON_ANY_DTYPE) {}
  template <class Bits, std::enable_if_t<std::is_unsigned_v<Bits>, int> = 0>
  constexpr Dtypes(Bits bits) : bits_(bits) {}  // NOLINT(google-explicit-constructor)
  template <class Dtype, std::enable_if_t<std::is_enum_v<Dtype>, int> = 0>
  constexpr Dtypes(Dtype dtype) : bits_(TENON_DTYPE_BIT(dtype)) {}  // NOLINT(google-explicit-constructor)
  template <class Number, std::enable_if_t<std::is_integral_v<Number> && std::is_signed_v<Number>, int> = 0>
  Dtypes(Number) = delete;

  constexpr operator uint64_t() const { return bits_; }  // NOLINT(google-explicit-constructor)

 private:
  uint64_t bits_;
};

}  // namespace tenon
