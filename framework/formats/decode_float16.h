// The 16-bit floats of tensors.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace tenon::support {

// Decodes a float from the exponent and fraction in `bits`, as in IEEE 754: (5, 10) is binary16, (8, 7) is bfloat16.
inline double decode_float16(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  double value;
  if (exponent == (1 << exponent_bits) - 1)
    value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(fraction, 1 - bias - fraction_bits);
  else
    value = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return (bits >> 15) != 0 ? -value : value;
}

}  // namespace tenon::support
