#include "framework/operators/softmax_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

#include "framework/operators/vectors.h"

namespace tenon::operators {

namespace {

constexpr int64_t kLogitsAtOnce = 16;
constexpr int64_t kClassesPerSum = 512;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The mask of the last N logits begins at 16 + N, that of the first N at 16 - N.
constexpr std::array<int32_t, 3 * kLogitsAtOnce> kMasks = [] {
  std::array<int32_t, 3 * kLogitsAtOnce> masks{};
  for (size_t i = 0; i < kLogitsAtOnce; ++i) masks[i] = masks[2 * kLogitsAtOnce + i] = -1;
  return masks;
}();

// The classes % kLogitsAtOnce logits that are left after whole steps.
struct LastLogits {
  const float* logits;  // kLogitsAtOnce of them
  const int32_t* used;  // -1 for those that are left; the others precede them, or are 0 if there are no others
  float padded[kLogitsAtOnce];

  TENON_INLINE LastLogits(const float* all, int64_t classes) {
    const int64_t count = classes % kLogitsAtOnce;
    const bool has_others = classes >= kLogitsAtOnce;
    logits = has_others ? all + classes - kLogitsAtOnce : padded;
    used = kMasks.data() + kLogitsAtOnce + (has_others ? count : -count);
    if (has_others) return;
    std::memset(padded, 0, sizeof padded);
    std::memcpy(padded, all, static_cast<size_t>(count) * sizeof(float));
  }
};

// The loops with vectors of these types. Each step computes kLogitsAtOnce logits, so the order of additions does not
// depend on the size of vectors.
template <typename Floats, typename Ints>
struct SoftmaxLoops {
  static constexpr size_t kBytes = sizeof(Floats);
  static constexpr int64_t kLanes = kBytes / sizeof(float);
  static constexpr int64_t kVectors = kLogitsAtOnce / kLanes;

  template <typename Vector, typename Value>
  TENON_INLINE static void read(const Value* from, int64_t v, Vector& to) {
    std::memcpy(&to, from + v * kLanes, kBytes);
  }

  template <typename Combination>
  TENON_INLINE static float combine_all(const Floats (&vectors)[kVectors]) {
    float values[kLogitsAtOnce];
    std::memcpy(values, vectors, sizeof values);
    return combine<Combination>(values);
  }

  // Calls visit(index of the vector, logits, mask of those to use) for each vector of a step. `used` is null for all.
  template <typename Visit>
  TENON_INLINE static void visit_step(const float* logits, const int32_t* used, const Visit& visit) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) {
      Floats x;
      Ints mask = ~Ints{};
      read(logits, v, x);
      if (used) read(used, v, mask);
      visit(v, x, mask);
    }
  }

  // For each step of the classes from `first` to `end`, which is a multiple of kLogitsAtOnce or the number of classes.
  template <typename Visit>
  TENON_INLINE static void visit_steps(const float* logits, int64_t first, int64_t end, const Visit& visit) {
    int64_t c = first;
    for (; c + kLogitsAtOnce <= end; c += kLogitsAtOnce) visit_step(logits + c, nullptr, visit);
    if (c == end) return;
    const LastLogits last(logits, end);
    visit_step(last.logits, last.used, visit);
  }

  TENON_INLINE static float find_max(const float* logits, int64_t classes) {
    Floats most[kVectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) most[v] = Floats{} + kLowest;
    visit_steps(
        logits, 0, classes, [&](int64_t v, const Floats& x, const Ints& used) __attribute__((always_inline)) {
          const Floats with = used ? x : most[v];
          Max::add(most[v], with);
        });
    return combine_all<Max>(most);
  }

  TENON_INLINE static LogitSums add_up(const float* logits, int64_t classes) {
    LogitSums sums{find_max(logits, classes), 0, 0};
    for (int64_t first = 0; first < classes; first += kClassesPerSum) {
      const int64_t end = std::min(first + kClassesPerSum, classes);
      Floats exponentials[kVectors] = {}, differences[kVectors] = {};
      visit_steps(
          logits, first, end, [&](int64_t v, Floats & x, const Ints& used) __attribute__((always_inline)) {
            x -= sums.max;
            differences[v] += used ? x : Floats{};
            exponentiate<Ints>(x);
            exponentials[v] += used ? x : Floats{};
          });
      sums.exponentials += static_cast<double>(combine_all<Sum>(exponentials));
      sums.differences += static_cast<double>(combine_all<Sum>(differences));
    }
    return sums;
  }

  TENON_INLINE static void propagate_step(const float* logits, const LogitGradient& of, float* result) {
    Floats x;
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) {
      read(logits, v, x);
      x -= of.max;
      exponentiate<Ints>(x);
      x = (x * of.scale - of.share) * of.factor;
      std::memcpy(result + v * kLanes, &x, kBytes);
    }
  }

  TENON_INLINE static void propagate(const float* logits, int64_t classes, const LogitGradient& of, float* result) {
    for (int64_t c = 0; c + kLogitsAtOnce <= classes; c += kLogitsAtOnce) propagate_step(logits + c, of, result + c);
    if (classes % kLogitsAtOnce == 0) return;
    const LastLogits last(logits, classes);
    float gradients[kLogitsAtOnce];
    propagate_step(last.logits, of, gradients);
    const int64_t written = std::min(classes, kLogitsAtOnce);  // those of preceding logits again
    std::memcpy(result + classes - written, gradients, static_cast<size_t>(written) * sizeof(float));
  }
};

// TENON_SOFTMAX_KERNELS(NAME, LANES, ATTRIBUTES): the loops with vectors of that many floats, compiled with the
// attributes.
#define TENON_SOFTMAX_KERNELS(NAME, LANES, ...)                                                                   \
  struct NAME {                                                                                                   \
    __VA_ARGS__ static LogitSums add_up(const float* logits, int64_t classes) {                                   \
      return SoftmaxLoops<Floats##LANES, Ints##LANES>::add_up(logits, classes);                                   \
    }                                                                                                             \
    __VA_ARGS__ static void propagate(const float* logits, int64_t classes, const LogitGradient& of, float* to) { \
      SoftmaxLoops<Floats##LANES, Ints##LANES>::propagate(logits, classes, of, to);                               \
    }                                                                                                             \
    static constexpr SoftmaxKernels kAll = {add_up, propagate};                                                   \
  };

TENON_SOFTMAX_KERNELS(PortableSoftmax, 4)
#if defined(__x86_64__)
TENON_SOFTMAX_KERNELS(Avx2Softmax, 8, TENON_AVX2)
TENON_SOFTMAX_KERNELS(Avx512Softmax, 16, TENON_AVX512)
#endif

}  // namespace

std::vector<const SoftmaxKernels*> all_softmax_kernels() {
  std::vector<const SoftmaxKernels*> all;
#if defined(__x86_64__)
  if (has_avx512()) all.push_back(&Avx512Softmax::kAll);
  if (has_avx2()) all.push_back(&Avx2Softmax::kAll);
#endif
  all.push_back(&PortableSoftmax::kAll);
  return all;
}

const SoftmaxKernels& softmax_kernels() {
  static const SoftmaxKernels& best = *all_softmax_kernels().front();
  return best;
}

}  // namespace tenon::operators
