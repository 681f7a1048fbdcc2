// What fills the rest of a sample that is smaller than the largest of its batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tenon::plugins {

// An element of any dtype, in its first bytes.
using Element = std::array<std::byte, 16>;

// The value as an element of the dtype; nothing where the dtype cannot hold it. Integers hold whole numbers of their
// range, bool 0 and 1; floating-point dtypes round to the nearest (ties to even) and hold infinities and NaN, but no
// finite number becomes infinite. Complex numbers have no imaginary part. REQUIRES: dtype_bytes(dtype) > 0.
std::optional<Element> encode_element(int32_t dtype, double value);

}  // namespace tenon::plugins
