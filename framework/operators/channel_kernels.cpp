#include "framework/operators/channel_kernels.h"

#include <algorithm>
#include <vector>

#include "framework/operators/instruction_sets.h"

namespace tenon::operators {

namespace {

TENON_INLINE void store(float& to, float value) { to = value; }
// Rounds to the nearest, ties to even. NaN stays NaN.
TENON_INLINE void store(Bf16& to, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  to.bits = static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

// Rows of few channels are read as rows of about 64, so that they fill the vectors of the processor. Values by channel
// are then repeated for each of the joined rows.
struct JoinedRows {
  int64_t joined;    // rows in one
  int64_t rows;      // of joined channels
  int64_t channels;  // in a joined row
  int64_t rest;      // rows that are left
  int64_t done;      // values in the joined rows

  TENON_INLINE JoinedRows(int64_t count, int64_t of_channels) : joined(std::max<int64_t>(1, 64 / of_channels)) {
    rows = count / joined;
    channels = joined * of_channels;
    rest = count % joined;
    done = rows * channels;
  }

  TENON_INLINE bool is_any() const { return joined > 1 && rows > 0; }

  TENON_INLINE std::vector<float> repeat(const float* values) const {
    std::vector<float> repeated(static_cast<size_t>(channels));
    const int64_t each = channels / joined;
    for (int64_t row = 0; row < joined; ++row) std::copy_n(values, each, repeated.data() + row * each);
    return repeated;
  }
};

// The scales of joined rows, if there are any.
struct JoinedScales {
  std::vector<float> scale, shift;
  ChannelScales scales{};
  const ChannelScales* given = nullptr;

  TENON_INLINE JoinedScales(const JoinedRows& by, const ChannelScales* one) {
    if (!one) return;
    scale = by.repeat(one->scale);
    shift = by.repeat(one->shift);
    scales = {scale.data(), shift.data()};
    given = &scales;
  }
  JoinedScales(const JoinedScales&) = delete;
};

// Rows per run: few enough that the second pass reads from the cache, and that float sums are exact enough.
TENON_INLINE int64_t rows_per_run(int64_t channels) { return std::clamp<int64_t>(4096 / channels, 8, 128); }

template <typename T>
TENON_INLINE void measure_run(const T* x, int64_t rows, int64_t channels, float* __restrict mean,
                              float* __restrict squares) {
  for (int64_t c = 0; c < channels; ++c) mean[c] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict values = x + row * channels;
    for (int64_t c = 0; c < channels; ++c) mean[c] += load(values[c]);
  }
  const float share = 1 / static_cast<float>(rows);
  for (int64_t c = 0; c < channels; ++c) mean[c] *= share;
  for (int64_t c = 0; c < channels; ++c) squares[c] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict values = x + row * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const float difference = load(values[c]) - mean[c];
      squares[c] += difference * difference;
    }
  }
}

template <typename T>
TENON_INLINE void measure_rows(const T* x, int64_t rows, int64_t channels, ChannelMoments& moments) {
  const int64_t run = rows_per_run(channels);
  std::vector<float> scratch(static_cast<size_t>(2 * channels));
  float* __restrict run_mean = scratch.data();
  float* __restrict run_squares = scratch.data() + channels;
  std::fill_n(moments.mean, channels, 0.0);
  std::fill_n(moments.squares, channels, 0.0);
  moments.count = 0;
  for (int64_t first = 0; first < rows; first += run) {
    const int64_t count = std::min(run, rows - first);
    measure_run(x + first * channels, count, channels, run_mean, run_squares);
    merge_moments(moments, static_cast<double>(count), run_mean, run_squares, channels);
  }
}

template <typename T>
TENON_INLINE void measure(const T* x, int64_t rows, int64_t channels, ChannelMoments& moments) {
  const JoinedRows by(rows, channels);
  if (!by.is_any()) return measure_rows(x, rows, channels, moments);
  std::vector<double> scratch(static_cast<size_t>(2 * by.channels));
  ChannelMoments some{0, scratch.data(), scratch.data() + by.channels};
  measure_rows(x, by.rows, by.channels, some);
  std::fill_n(moments.mean, channels, 0.0);
  std::fill_n(moments.squares, channels, 0.0);
  moments.count = 0;
  for (int64_t row = 0; row < by.joined; ++row)
    merge_moments(moments, some.count, some.mean + row * channels, some.squares + row * channels, channels);
  if (by.rest == 0) return;
  measure_rows(x + by.done, by.rest, channels, some);
  merge_moments(moments, some.count, some.mean, some.squares, channels);
}

template <typename T>
TENON_INLINE void normalise_rows(const T* x, T* y, int64_t rows, int64_t channels, const ChannelScales& scales) {
  const float* __restrict scale = scales.scale;
  const float* __restrict shift = scales.shift;
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict values = x + row * channels;
    T* __restrict written = y + row * channels;
    for (int64_t c = 0; c < channels; ++c) store(written[c], scale[c] * load(values[c]) + shift[c]);
  }
}

template <typename T>
TENON_INLINE void normalise(const T* x, T* y, int64_t rows, int64_t channels, const ChannelScales& scales) {
  const JoinedRows by(rows, channels);
  if (!by.is_any()) return normalise_rows(x, y, rows, channels, scales);
  normalise_rows(x, y, by.rows, by.channels, JoinedScales(by, &scales).scales);
  normalise_rows(x + by.done, y + by.done, by.rest, channels, scales);
}

// Rounds as `normalise` does, so that a value is masked exactly if its output is not positive.
template <typename T>
TENON_INLINE float masked(float gradient, float x, float scale, float shift) {
  T output;
  store(output, scale * x + shift);
  return load(output) <= 0 ? 0.0f : gradient;
}

template <typename T, bool kHasMask>
TENON_INLINE void add_run(const T* gradient, const T* x, int64_t rows, int64_t channels, const float* __restrict mean,
                          const float* __restrict scale, const float* __restrict shift, float* __restrict sums,
                          float* __restrict products) {
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict gradients = gradient + row * channels;
    const T* __restrict values = x + row * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const float value = load(values[c]);
      float g = load(gradients[c]);
      if constexpr (kHasMask) g = masked<T>(g, value, scale[c], shift[c]);
      sums[c] += g;
      products[c] += g * (value - mean[c]);
    }
  }
}

template <typename T>
TENON_INLINE void add_sums_of_rows(const T* gradient, const T* x, int64_t rows, int64_t channels, const float* mean,
                                   const ChannelScales* mask, double* __restrict sums, double* __restrict products) {
  const int64_t run = rows_per_run(channels);
  std::vector<float> scratch(static_cast<size_t>(2 * channels));
  float* __restrict run_sums = scratch.data();
  float* __restrict run_products = scratch.data() + channels;
  for (int64_t first = 0; first < rows; first += run) {
    const int64_t count = std::min(run, rows - first);
    std::fill(scratch.begin(), scratch.end(), 0.0f);
    const T* gradients = gradient + first * channels;
    const T* values = x + first * channels;
    if (mask)
      add_run<T, true>(gradients, values, count, channels, mean, mask->scale, mask->shift, run_sums, run_products);
    else
      add_run<T, false>(gradients, values, count, channels, mean, nullptr, nullptr, run_sums, run_products);
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += run_sums[c];
      products[c] += run_products[c];
    }
  }
}

template <typename T>
TENON_INLINE void add_sums(const T* gradient, const T* x, int64_t rows, int64_t channels, const float* mean,
                           const ChannelScales* mask, double* sums, double* products) {
  const JoinedRows by(rows, channels);
  if (!by.is_any()) return add_sums_of_rows(gradient, x, rows, channels, mean, mask, sums, products);
  const std::vector<float> means = by.repeat(mean);
  const JoinedScales joined_mask(by, mask);
  std::vector<double> scratch(static_cast<size_t>(2 * by.channels));
  double* const joined_sums = scratch.data();
  double* const joined_products = scratch.data() + by.channels;
  add_sums_of_rows(gradient, x, by.rows, by.channels, means.data(), joined_mask.given, joined_sums, joined_products);
  for (int64_t i = 0; i < by.channels; ++i) {
    sums[i % channels] += joined_sums[i];
    products[i % channels] += joined_products[i];
  }
  add_sums_of_rows(gradient + by.done, x + by.done, by.rest, channels, mean, mask, sums, products);
}

template <typename T, bool kHasMask>
TENON_INLINE void propagate_rows(const T* gradient, const T* x, T* result, int64_t rows, int64_t channels,
                                 const ChannelGradients& of, const float* __restrict scale,
                                 const float* __restrict shift) {
  const float* __restrict factor = of.factor;
  const float* __restrict mean = of.mean;
  const float* __restrict offset = of.offset;
  const float* __restrict slope = of.slope;
  for (int64_t row = 0; row < rows; ++row) {
    const T* __restrict gradients = gradient + row * channels;
    const T* __restrict values = x + row * channels;
    T* __restrict written = result + row * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const float value = load(values[c]);
      float g = load(gradients[c]);
      if constexpr (kHasMask) g = masked<T>(g, value, scale[c], shift[c]);
      store(written[c], factor[c] * (g - offset[c] - slope[c] * (value - mean[c])));
    }
  }
}

template <typename T>
TENON_INLINE void propagate_with(const T* gradient, const T* x, T* result, int64_t rows, int64_t channels,
                                 const ChannelGradients& gradients, const ChannelScales* mask) {
  if (mask)
    propagate_rows<T, true>(gradient, x, result, rows, channels, gradients, mask->scale, mask->shift);
  else
    propagate_rows<T, false>(gradient, x, result, rows, channels, gradients, nullptr, nullptr);
}

template <typename T>
TENON_INLINE void propagate(const T* gradient, const T* x, T* result, int64_t rows, int64_t channels,
                            const ChannelGradients& gradients, const ChannelScales* mask) {
  const JoinedRows by(rows, channels);
  if (!by.is_any()) return propagate_with(gradient, x, result, rows, channels, gradients, mask);
  const std::vector<float> factor = by.repeat(gradients.factor), mean = by.repeat(gradients.mean),
                           offset = by.repeat(gradients.offset), slope = by.repeat(gradients.slope);
  const JoinedScales joined_mask(by, mask);
  propagate_with(gradient, x, result, by.rows, by.channels, {factor.data(), mean.data(), offset.data(), slope.data()},
                 joined_mask.given);
  propagate_with(gradient + by.done, x + by.done, result + by.done, by.rest, channels, gradients, mask);
}

// TENON_KERNELS(NAME, ATTRIBUTES): the loops, compiled with the attributes, as the function NAME<T>().
#define TENON_KERNELS(NAME, ...)                                                                                      \
  template <typename T>                                                                                               \
  struct NAME {                                                                                                       \
    __VA_ARGS__ static void measure_(const T* x, int64_t rows, int64_t channels, ChannelMoments& moments) {           \
      measure(x, rows, channels, moments);                                                                            \
    }                                                                                                                 \
    __VA_ARGS__ static void normalise_(const T* x, T* y, int64_t rows, int64_t channels, const ChannelScales& of) {   \
      normalise(x, y, rows, channels, of);                                                                            \
    }                                                                                                                 \
    __VA_ARGS__ static void add_sums_(const T* gradient, const T* x, int64_t rows, int64_t channels,                  \
                                      const float* mean, const ChannelScales* mask, double* sums, double* products) { \
      add_sums(gradient, x, rows, channels, mean, mask, sums, products);                                              \
    }                                                                                                                 \
    __VA_ARGS__ static void propagate_(const T* gradient, const T* x, T* result, int64_t rows, int64_t channels,      \
                                       const ChannelGradients& gradients, const ChannelScales* mask) {                \
      propagate(gradient, x, result, rows, channels, gradients, mask);                                                \
    }                                                                                                                 \
    static constexpr ChannelKernels<T> kAll = {measure_, normalise_, add_sums_, propagate_};                          \
  };

TENON_KERNELS(Portable)
#if defined(__x86_64__)
TENON_KERNELS(Avx2, TENON_AVX2)
TENON_KERNELS(Avx512, TENON_AVX512)
#endif

}  // namespace

template <typename T>
const ChannelKernels<T>& channel_kernels() {
#if defined(__x86_64__)
  if (has_avx512()) return Avx512<T>::kAll;
  if (has_avx2()) return Avx2<T>::kAll;
#endif
  return Portable<T>::kAll;
}

template const ChannelKernels<float>& channel_kernels();
template const ChannelKernels<Bf16>& channel_kernels();

}  // namespace tenon::operators
