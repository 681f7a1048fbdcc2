#include "framework/components/kinds/sample_slot.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <tenon/abi.h>

#include "framework/support/diagnostics/check.h"

namespace tenon::components {
namespace {

template <class T>
Element as_element(T value) {
  Element element{};
  std::memcpy(element.data(), &value, sizeof value);
  return element;
}

template <class T>
std::optional<Element> encode_integer(double value) {
  // Both bounds are powers of two, or zero, which a double holds exactly.
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const double begin = std::numeric_limits<T>::is_signed ? -end : 0.0;
  if (!(value >= begin && value < end) || std::trunc(value) != value) return std::nullopt;
  return as_element(static_cast<T>(value));
}

template <class T>
std::optional<Element> encode_float(double value) {
  const T rounded = static_cast<T>(value);
  if (std::isinf(rounded) && !std::isinf(value)) return std::nullopt;
  return as_element(rounded);
}

// Encodes an IEEE 754 binary format of 16 bits: a sign, the biased exponent, the mantissa without its leading one.
std::optional<Element> encode_float16(double value, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  const uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
  const auto encoded = [&](uint32_t magnitude) { return as_element(static_cast<uint16_t>(sign | magnitude)); };
  if (std::isnan(value)) return encoded(infinity | (1u << (mantissa_bits - 1)));
  if (std::isinf(value)) return encoded(infinity);
  if (std::fabs(value) >= std::ldexp(1.0, bias + 1)) return std::nullopt;

  // Below the smallest normal exponent the format is evenly spaced.
  const int exponent = std::max(value == 0 ? 1 - bias : std::ilogb(value), 1 - bias);
  const double steps = std::nearbyint(std::ldexp(std::fabs(value), mantissa_bits - exponent));
  // The leading one of a normal number carries into the exponent. So does a mantissa that was rounded up to two.
  const uint32_t magnitude =
      (static_cast<uint32_t>(exponent + bias - 1) << mantissa_bits) + static_cast<uint32_t>(steps);
  if (magnitude >= infinity) return std::nullopt;
  return encoded(magnitude);
}

}  // namespace

std::optional<Element> encode_element(int32_t dtype, double value) {
  switch (dtype) {
    case TENON_UINT8: return encode_integer<uint8_t>(value);
    case TENON_INT8: return encode_integer<int8_t>(value);
    case TENON_INT16: return encode_integer<int16_t>(value);
    case TENON_INT32: return encode_integer<int32_t>(value);
    case TENON_INT64: return encode_integer<int64_t>(value);
    case TENON_FLOAT16: return encode_float16(value, 10);
    case TENON_BFLOAT16: return encode_float16(value, 7);
    case TENON_FLOAT32:
    case TENON_COMPLEX64: return encode_float<float>(value);
    case TENON_FLOAT64:
    case TENON_COMPLEX128: return encode_float<double>(value);
    case TENON_BOOL: return value == 0 || value == 1 ? encode_integer<uint8_t>(value) : std::nullopt;
    default: break;
  }
  TENON_CHECK(false, "dtype " << dtype);
  return std::nullopt;
}

}  // namespace tenon::components
