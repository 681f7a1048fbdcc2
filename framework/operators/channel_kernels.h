// The loops of batch normalisation over rows of channels: [rows, channels] in memory, which is how a channels_last
// image batch is stored. Compiled for several instruction sets; the best one of this processor is chosen at run time.
//
// Sums are exact to about float precision for any number of rows: they are formed over short runs of rows in float and
// merged in double. The numbers depend on the range of rows of a call, and on nothing else.
#pragma once

#include <bit>
#include <cstdint>

namespace tenon::operators {

// The bits of a bfloat16.
struct Bf16 {
  uint16_t bits;
};

__attribute__((always_inline)) inline float load(float value) { return value; }
__attribute__((always_inline)) inline float load(Bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// The statistics of some rows, by channel.
struct ChannelMoments {
  double count;  // rows
  double* mean;
  double* squares;  // sum of the squared differences from the mean
};

// Merges the moments of other rows into `moments`, by the formula of Chan, Golub and LeVeque, "Updating Formulae and a
// Pairwise Algorithm for Computing Sample Variances", 1979.
template <typename Real>
__attribute__((always_inline)) inline void merge_moments(ChannelMoments& moments, double count, const Real* other_mean,
                                                         const Real* other_squares, int64_t channels) {
  double* __restrict mean = moments.mean;
  double* __restrict squares = moments.squares;
  const double before = moments.count;
  moments.count += count;
  const double share = count / moments.count;
  for (int64_t c = 0; c < channels; ++c) {
    const double difference = other_mean[c] - mean[c];
    squares[c] += other_squares[c] + difference * difference * before * share;
    mean[c] += difference * share;
  }
}

// What the loops need of the rows' normalisation, by channel: the output is scale * x + shift.
struct ChannelScales {
  const float* scale;
  const float* shift;
};

// What the backward needs: the gradient of x is `factor` * (g - offset - slope * (x - mean)).
struct ChannelGradients {
  const float* factor;
  const float* mean;
  const float* offset;
  const float* slope;
};

template <typename T>
struct ChannelKernels {
  // Writes the moments of the rows.
  void (*measure)(const T* x, int64_t rows, int64_t channels, ChannelMoments& moments);
  void (*normalise)(const T* x, T* y, int64_t rows, int64_t channels, const ChannelScales& scales);
  // Adds to `sums` the sum of g, and to `products` that of g * (x - mean). With a mask, g is `gradient` where
  // scale * x + shift is positive or NaN, and 0 elsewhere, as in the gradient of ReLU. Otherwise it is `gradient`.
  void (*add_sums)(const T* gradient, const T* x, int64_t rows, int64_t channels, const float* mean,
                   const ChannelScales* mask, double* sums, double* products);
  // Writes the gradient of x.
  void (*propagate)(const T* gradient, const T* x, T* result, int64_t rows, int64_t channels,
                    const ChannelGradients& gradients, const ChannelScales* mask);
};

// T: float or Bf16.
template <typename T>
const ChannelKernels<T>& channel_kernels();

}  // namespace tenon::operators
