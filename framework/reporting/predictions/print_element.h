// The elements of tensors as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace tenon::reporting {

template <class T>
T read_element(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// Appends the shortest text that is read back with the same bits: `3`, `0.31`, `NaN`, `-Infinity`. REQUIRES: an integer
// or boolean dtype, TENON_FLOAT32 or TENON_FLOAT64.
void print_element(std::string& text, int32_t dtype, const std::byte* data);

}  // namespace tenon::reporting
