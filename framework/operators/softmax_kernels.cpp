#include "framework/operators/softmax_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "framework/operators/instruction_sets.h"

namespace tenon::operators {

namespace {

using Logits = float __attribute__((vector_size(64)));
using Bits = int32_t __attribute__((vector_size(64)));
constexpr int64_t kLogitsAtOnce = 16;
// Masks whose last or first lanes are set begin between these.
constexpr std::array<int32_t, 3 * kLogitsAtOnce> kMasks = [] {
  std::array<int32_t, 3 * kLogitsAtOnce> masks{};
  for (size_t i = 0; i < kLogitsAtOnce; ++i) masks[i] = masks[2 * kLogitsAtOnce + i] = -1;
  return masks;
}();
constexpr int64_t kClassesPerSum = 512;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

TENON_INLINE void read_logits(const float* from, Logits& to) { std::memcpy(&to, from, sizeof to); }

// Reads the classes % kLogitsAtOnce logits that are left after whole vectors, into the lanes that are set in `used`.
// The others have logits that precede them if there are any.
TENON_INLINE void read_last_logits(const float* logits, int64_t classes, Logits& to, Bits& used) {
  const int32_t* const masks = kMasks.data() + kLogitsAtOnce;
  const int64_t count = classes % kLogitsAtOnce;
  if (classes >= kLogitsAtOnce) {
    read_logits(logits + classes - kLogitsAtOnce, to);
    std::memcpy(&used, masks + count, sizeof used);
  } else {
    to = Logits{};
    std::memcpy(&to, logits, static_cast<size_t>(count) * sizeof(float));
    std::memcpy(&used, masks - count, sizeof used);
  }
}

// exp of values that are at most 0: exp(x) = 2^n * exp(r), where n is an integer and |r| <= ln(2) / 2. The Taylor
// series up to r^7 leaves out less than 6e-9 of exp(r). Below -87, where float has no normal numbers, the result is 0.
// NaN stays NaN.
TENON_INLINE void exponentiate(Logits& x) {
  constexpr float kMost = 87;
  constexpr float kLog2E = 0x1.715476p+0F;
  constexpr float kLn2 = 0x1.62ep-1F, kRestOfLn2 = 0x1.0bfbe8p-15F;  // n * kLn2 is exact
  constexpr float kRounder = 0x1.8p+23F;  // its last bit is 1, so adding it rounds to an integer
  const Bits is_zero = x < -kMost;        // false for NaN
  const Logits bounded = is_zero ? Logits{} - kMost : x;
  const Logits shifted = bounded * kLog2E + kRounder;
  const Logits n = shifted - kRounder;
  const Logits r = (bounded - n * kLn2) - n * kRestOfLn2;
  // Pairs of terms, so that the processor computes several at a time.
  const Logits r2 = r * r;
  const Logits high = (r * (1.0F / 120) + 1.0F / 24) + r2 * (r * (1.0F / 5040) + 1.0F / 720);
  const Logits series = (r + 1) + r2 * ((r * (1.0F / 6) + 0.5F) + r2 * high);
  Bits bits;  // n is in the last bits of `shifted`
  std::memcpy(&bits, &shifted, sizeof bits);
  const Bits power = (bits - 0x4b400000 + 127) << 23;
  Logits two_to_n;
  std::memcpy(&two_to_n, &power, sizeof power);
  x = is_zero ? Logits{} : series * two_to_n;
}

enum class Combination { max, sum };

template <Combination kBy, typename Values>
TENON_INLINE void combine(Values& to, const Values& with) {
  if constexpr (kBy == Combination::max)
    to = with > to ? with : to;
  else
    to += with;
}

// Combines the logits in pairs.
template <Combination kBy>
TENON_INLINE float combine_all(const Logits& x) {
  using Eight = float __attribute__((vector_size(32)));
  using Four = float __attribute__((vector_size(16)));
  Eight eight[2];
  std::memcpy(eight, &x, sizeof eight);
  combine<kBy>(eight[0], eight[1]);
  Four four[2];
  std::memcpy(four, eight, sizeof four);
  combine<kBy>(four[0], four[1]);
  float last[4];
  std::memcpy(last, four, sizeof last);
  combine<kBy>(last[0], last[2]);
  combine<kBy>(last[1], last[3]);
  combine<kBy>(last[0], last[1]);
  return last[0];
}

TENON_INLINE float find_max(const float* logits, int64_t classes) {
  Logits most = Logits{} + kLowest, x;
  for (int64_t c = 0; c + kLogitsAtOnce <= classes; c += kLogitsAtOnce) {
    read_logits(logits + c, x);
    combine<Combination::max>(most, x);
  }
  if (classes % kLogitsAtOnce != 0) {
    Bits used;
    read_last_logits(logits, classes, x, used);
    x = used ? x : most;
    combine<Combination::max>(most, x);
  }
  return combine_all<Combination::max>(most);
}

TENON_INLINE LogitSums add_up_logits(const float* logits, int64_t classes) {
  LogitSums sums{find_max(logits, classes), 0, 0};
  for (int64_t first = 0; first < classes; first += kClassesPerSum) {
    const int64_t end = std::min(first + kClassesPerSum, classes);
    Logits exponentials{}, differences{}, x;
    for (int64_t c = first; c + kLogitsAtOnce <= end; c += kLogitsAtOnce) {
      read_logits(logits + c, x);
      x -= sums.max;
      differences += x;
      exponentiate(x);
      exponentials += x;
    }
    if ((end - first) % kLogitsAtOnce != 0) {
      Bits used;
      read_last_logits(logits, classes, x, used);
      x -= sums.max;
      differences += used ? x : Logits{};
      exponentiate(x);
      exponentials += used ? x : Logits{};
    }
    sums.exponentials += static_cast<double>(combine_all<Combination::sum>(exponentials));
    sums.differences += static_cast<double>(combine_all<Combination::sum>(differences));
  }
  return sums;
}

TENON_INLINE void differentiate(const LogitGradient& of, Logits& x) {
  x -= of.max;
  exponentiate(x);
  x = (x * of.scale - of.share) * of.factor;
}

TENON_INLINE void propagate_to_logits(const float* logits, int64_t classes, const LogitGradient& of, float* result) {
  Logits x;
  for (int64_t c = 0; c + kLogitsAtOnce <= classes; c += kLogitsAtOnce) {
    read_logits(logits + c, x);
    differentiate(of, x);
    std::memcpy(result + c, &x, sizeof x);
  }
  if (classes % kLogitsAtOnce == 0) return;
  Bits used;
  read_last_logits(logits, classes, x, used);
  differentiate(of, x);
  const int64_t written = std::min(classes, kLogitsAtOnce);  // those of preceding logits again
  std::memcpy(result + classes - written, &x, static_cast<size_t>(written) * sizeof(float));
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
TENON_SOFTMAX_KERNELS(Avx2Softmax, TENON_AVX2)
TENON_SOFTMAX_KERNELS(Avx512Softmax, TENON_AVX512)
#endif

}  // namespace

const SoftmaxKernels& portable_softmax_kernels() { return PortableSoftmax::kAll; }

const SoftmaxKernels& softmax_kernels() {
#if defined(__x86_64__)
  if (has_avx512()) return Avx512Softmax::kAll;
  if (has_avx2()) return Avx2Softmax::kAll;
#endif
  return portable_softmax_kernels();
}

}  // namespace tenon::operators
