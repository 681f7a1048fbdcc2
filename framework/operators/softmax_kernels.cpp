#include "framework/operators/softmax_kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "framework/operators/instruction_sets.h"

namespace tenon::operators {

namespace {

using Logits = float __attribute__((vector_size(32)));
using Bits = int32_t __attribute__((vector_size(32)));
constexpr int64_t kLogitsAtOnce = sizeof(Logits) / sizeof(float);
constexpr int64_t kClassesPerSum = 512;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// Reads up to kLogitsAtOnce values, and `missing` in place of the others.
TENON_INLINE void read_logits(const float* from, int64_t count, float missing, Logits& to) {
  if (count >= kLogitsAtOnce) {
    std::memcpy(&to, from, sizeof to);
    return;
  }
  to = Logits{} + missing;
  std::memcpy(&to, from, static_cast<size_t>(count) * sizeof(float));
}

// exp of values that are at most 0: exp(x) = 2^n * exp(r), where n is an integer and |r| <= ln(2) / 2. The Taylor
// series up to r^7 leaves out less than 6e-9 of exp(r). Below -87, where float has no normal numbers, the result is 0.
// NaN stays NaN.
TENON_INLINE void exponentiate(Logits& x) {
  constexpr float kMost = 87;
  constexpr float kLog2E = 0x1.715476p+0F;
  constexpr float kLn2 = 0x1.62ep-1F, kRestOfLn2 = 0x1.0bfbe8p-15F;  // n * kLn2 is exact
  constexpr float kRounder = 0x1.8p+23F;  // its last bit is 1, so adding it rounds to an integer
  const auto is_zero = x < -kMost;        // false for NaN
  const Logits bounded = is_zero ? Logits{} - kMost : x;
  const Logits shifted = bounded * kLog2E + kRounder;
  const Logits n = shifted - kRounder;
  const Logits r = (bounded - n * kLn2) - n * kRestOfLn2;
  Logits series = r * (1.0F / 5040) + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  Bits bits, power;  // n is in the last bits of `shifted`
  std::memcpy(&bits, &shifted, sizeof bits);
  power = (bits - 0x4b400000 + 127) << 23;
  Logits two_to_n;
  std::memcpy(&two_to_n, &power, sizeof power);
  x = is_zero ? Logits{} : series * two_to_n;
}

TENON_INLINE float find_max(const float* row, int64_t classes) {
  Logits most = Logits{} + kLowest;
  for (int64_t c = 0; c < classes; c += kLogitsAtOnce) {
    Logits x;
    read_logits(row + c, classes - c, /*missing=*/kLowest, x);
    most = x > most ? x : most;
  }
  float max = kLowest;
  for (int64_t lane = 0; lane < kLogitsAtOnce; ++lane) max = std::max(max, most[lane]);
  return max;
}

TENON_INLINE double add_lanes(const Logits& lanes) {
  double sum = 0;
  for (int64_t lane = 0; lane < kLogitsAtOnce; ++lane) sum += static_cast<double>(lanes[lane]);
  return sum;
}

TENON_INLINE LogitSums add_up_logits(const float* logits, int64_t classes) {
  LogitSums sums{find_max(logits, classes), 0, 0};
  for (int64_t first = 0; first < classes; first += kClassesPerSum) {
    const int64_t end = std::min(first + kClassesPerSum, classes);
    Logits exponentials{}, differences{};
    for (int64_t c = first; c < end; c += kLogitsAtOnce) {
      Logits x;
      read_logits(logits + c, end - c, /*missing=*/sums.max, x);
      differences += x - sums.max;
      read_logits(logits + c, end - c, /*missing=*/kLowest, x);
      x -= sums.max;
      exponentiate(x);
      exponentials += x;
    }
    sums.exponentials += add_lanes(exponentials);
    sums.differences += add_lanes(differences);
  }
  return sums;
}

TENON_INLINE void propagate_to_logits(const float* logits, int64_t classes, const LogitGradient& of, float* result) {
  for (int64_t c = 0; c < classes; c += kLogitsAtOnce) {
    const int64_t count = std::min(classes - c, kLogitsAtOnce);
    Logits x;
    read_logits(logits + c, count, /*missing=*/of.max, x);
    x -= of.max;
    exponentiate(x);
    x = (x * of.scale - of.share) * of.factor;
    std::memcpy(result + c, &x, static_cast<size_t>(count) * sizeof(float));
  }
}

// TENON_SOFTMAX_KERNELS(NAME, ATTRIBUTES): the loops, compiled with the attributes.
#define TENON_SOFTMAX_KERNELS(NAME, ...)                                                                          \
  struct NAME {                                                                                                   \
    __VA_ARGS__ static LogitSums add_up(const float* logits, int64_t classes) {                                   \
      return add_up_logits(logits, classes);                                                                      \
    }                                                                                                             \
    __VA_ARGS__ static void propagate(const float* logits, int64_t classes, const LogitGradient& of, float* to) { \
      propagate_to_logits(logits, classes, of, to);                                                               \
    }                                                                                                             \
    static constexpr SoftmaxKernels kAll = {add_up, propagate};                                                   \
  };

TENON_SOFTMAX_KERNELS(PortableSoftmax)
#if defined(__x86_64__)
TENON_SOFTMAX_KERNELS(Avx2Softmax, __attribute__((target("avx2,fma"))))
#endif

}  // namespace

const SoftmaxKernels& softmax_kernels() {
#if defined(__x86_64__)
  if (has_avx2()) return Avx2Softmax::kAll;
#endif
  return PortableSoftmax::kAll;
}

}  // namespace tenon::operators
