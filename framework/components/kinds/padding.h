// Padding for a sample that is smaller than the largest sample of its batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tenon::components {

// An element of any dtype, stored in the first bytes.
using Element = std::array<std::byte, 16>;

// Converts the value to an element of the dtype; nothing if the dtype cannot represent it. Integers represent the whole
// numbers in their range, bool 0 and 1. Floating-point dtypes round to the nearest (ties to even) and represent
// infinities and NaN, but no finite number becomes infinite. Complex numbers have no imaginary part. REQUIRES:
// dtype_bytes(dtype) > 0.
std::optional<Element> encode_element(int32_t dtype, double value);

}  // namespace tenon::components
