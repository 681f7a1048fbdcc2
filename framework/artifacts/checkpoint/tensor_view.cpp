#include "framework/artifacts/checkpoint/tensor_view.h"

#include <tenon/abi.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "framework/formats/decode_float16.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::artifacts {

namespace {

using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64, "int64 and its differences must fit");

template <class T>
T read(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);  // files may be unaligned
  return value;
}

// Returns the position of a float among all floats of its dtype. Neighbours are 1 apart, and the two zeros are 0 apart.
int64_t rank(const std::byte* place, uint64_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, place, bytes);
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

uint64_t distance(int64_t a, int64_t b) {
  return a < b ? static_cast<uint64_t>(b) - static_cast<uint64_t>(a)
               : static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
}

Number find_distance(Number a, Number b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<Number>::infinity();
  return a == b ? 0 : std::abs(a - b);
}

}  // namespace

long double read_element(int32_t dtype, const std::byte* place) {
  switch (dtype) {
    case TENON_FLOAT64: return read<double>(place);
    case TENON_FLOAT32: return read<float>(place);
    case TENON_FLOAT16: return support::decode_float16(read<uint16_t>(place), 5, 10);
    case TENON_BFLOAT16: return support::decode_float16(read<uint16_t>(place), 8, 7);
    case TENON_INT64: return static_cast<Number>(read<int64_t>(place));
    case TENON_INT32: return read<int32_t>(place);
    case TENON_INT16: return read<int16_t>(place);
    case TENON_INT8: return read<int8_t>(place);
    default: return read<uint8_t>(place);
  }
}

TensorDifference compare_tensors(const TensorView& a, const TensorView& b) {
  TENON_CHECK(a.shape == b.shape, a.name << " and " << b.name << " have different shapes");
  const uint64_t a_step = find_stored_type(a.dtype)->bytes, b_step = find_stored_type(b.dtype)->bytes;
  const bool is_same_type = a.dtype == b.dtype;
  TensorDifference difference;
  difference.elements = a.bytes / a_step;
  if (is_same_type && is_floating_point(a.dtype)) difference.max_ulps = 0;
  if (is_same_type && (a.bytes == 0 || std::memcmp(a.data, b.data, a.bytes) == 0)) return difference;
  for (uint64_t i = 0; i < difference.elements; ++i) {
    const std::byte *a_place = a.data + i * a_step, *b_place = b.data + i * b_step;
    if (is_same_type && std::memcmp(a_place, b_place, a_step) == 0) continue;
    const Number a_value = read_element(a.dtype, a_place), b_value = read_element(b.dtype, b_place);
    const Number apart = find_distance(a_value, b_value);
    if (!is_same_type && apart == 0) continue;
    ++difference.differing;
    difference.max_absolute = std::max(difference.max_absolute, static_cast<double>(apart));
    const Number relative =
        apart == 0 || std::isinf(apart) ? apart : apart / std::max(std::abs(a_value), std::abs(b_value));
    difference.max_relative = std::max(difference.max_relative, static_cast<double>(relative));
    if (difference.max_ulps && !std::isnan(a_value) && !std::isnan(b_value))
      difference.max_ulps = std::max(*difference.max_ulps, distance(rank(a_place, a_step), rank(b_place, b_step)));
  }
  return difference;
}

}  // namespace tenon::artifacts
