// Vectors of several sizes, their exponential, and their maximum and sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "framework/operators/instruction_sets.h"

namespace tenon::operators {

// GCC ignores a size that depends on a template's parameter.
using Floats4 = float __attribute__((vector_size(16)));
using Floats8 = float __attribute__((vector_size(32)));
using Floats16 = float __attribute__((vector_size(64)));
using Ints4 = int32_t __attribute__((vector_size(16)));
using Ints8 = int32_t __attribute__((vector_size(32)));
using Ints16 = int32_t __attribute__((vector_size(64)));

// exp of values that are at most 0, and any number for others: exp(x) = 2^n * exp(r), where n is an integer and |r| <=
// ln(2) / 2. The Taylor series up to r^7 leaves out less than 6e-9 of exp(r). Below -87, where float has no normal
// numbers, the result is 0. NaN stays NaN.
template <typename Ints, typename Floats>
TENON_INLINE void exponentiate(Floats& x) {
  constexpr float kMost = 87;
  constexpr float kLog2E = 0x1.715476p+0F;
  constexpr float kLn2 = 0x1.62ep-1F, kRestOfLn2 = 0x1.0bfbe8p-15F;  // n * kLn2 is exact
  constexpr float kRounder = 0x1.8p+23F;  // its last bit is 1: adding it rounds to an integer
  const Ints is_zero = x < -kMost;        // false for NaN
  const Floats bounded = is_zero ? Floats{} - kMost : x;
  const Floats shifted = bounded * kLog2E + kRounder;
  const Floats n = shifted - kRounder;
  const Floats r = (bounded - n * kLn2) - n * kRestOfLn2;
  // Pairs of terms, so that the processor computes several at a time.
  const Floats r2 = r * r;
  const Floats high = (r * (1.0F / 120) + 1.0F / 24) + r2 * (r * (1.0F / 5040) + 1.0F / 720);
  const Floats series = (r + 1) + r2 * ((r * (1.0F / 6) + 0.5F) + r2 * high);
  Ints bits;  // n is in the last bits of `shifted`
  std::memcpy(&bits, &shifted, sizeof bits);
  const Ints power = (bits - 0x4b400000 + 127) << 23;
  Floats two_to_n;
  std::memcpy(&two_to_n, &power, sizeof power);
  x = is_zero ? Floats{} : series * two_to_n;
}

struct Max {
  template <typename Values>
  TENON_INLINE static void add(Values& to, const Values& value) {
    to = value > to ? value : to;
  }
};

struct Sum {
  template <typename Values>
  TENON_INLINE static void add(Values& to, const Values& value) {
    to += value;
  }
};

// Combines each value of the first half with one of the second half, until one is left. N is 4, 8 or 16.
template <typename Combination, size_t N>
TENON_INLINE float combine(const float (&values)[N]) {
  Floats4 all[N / 4];
  std::memcpy(all, values, sizeof all);
#pragma GCC unroll 2
  for (size_t half = N / 8; half > 0; half /= 2)
#pragma GCC unroll 2
    for (size_t i = 0; i < half; ++i) Combination::add(all[i], all[i + half]);
  float last[4];
  std::memcpy(last, all, sizeof last);
  Combination::add(last[0], last[2]);
  Combination::add(last[1], last[3]);
  Combination::add(last[0], last[1]);
  return last[0];
}

}  // namespace tenon::operators
