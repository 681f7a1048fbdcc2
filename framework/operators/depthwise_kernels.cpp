#include "framework/operators/depthwise_kernels.h"

#include <cstring>

#include "framework/operators/instruction_sets.h"

namespace tenon::operators {

namespace {

// Values of neighbouring channels.
using Floats = float __attribute__((vector_size(32)));
using Halves = uint16_t __attribute__((vector_size(16)));
using Words = uint32_t __attribute__((vector_size(32)));

template <typename Values>
constexpr int64_t kLanes = sizeof(Values) / sizeof(float);

TENON_INLINE void read(const float* from, Floats& to) { std::memcpy(&to, from, sizeof to); }
TENON_INLINE void read(const Bf16* from, Floats& to) {
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  const Words words = __builtin_convertvector(halves, Words) << 16;
  std::memcpy(&to, &words, sizeof to);
}
template <typename T>
TENON_INLINE void read(const T* from, float& to) {
  to = load(*from);
}

// A range of images and of rows of outputs.
struct OutputRows {
  int64_t first_image, end_image, first, end;
};

// Adds the products of one tap in the rows to `totals`, for as many channels as kCount Values hold. Their sums stay in
// registers. `gradient`, `x` and `totals` point to the first of these channels.
template <typename Values, int kCount, typename T>
TENON_INLINE void add_tap(const T* gradient, const T* x, const OutputRows& rows, const DepthwiseShape& shape, int64_t i,
                          int64_t j, double* totals) {
  const ConvolutionAxis &height = shape.height, &width = shape.width;
  const int64_t first_row = std::max(rows.first, height.first_output(i));
  const int64_t end_row = std::min(rows.end, height.end_output(i));
  const int64_t first_column = width.first_output(j), columns = width.end_output(j) - first_column;
  if (first_row >= end_row || columns <= 0) return;
  Values sums[kCount] = {};
  for (int64_t image = rows.first_image; image < rows.end_image; ++image) {
    for (int64_t row = first_row; row < end_row; ++row) {
      const int64_t output = (image * height.output + row) * width.output + first_column;
      const int64_t input =
          (image * height.input + height.input_of(row, i)) * width.input + width.input_of(first_column, j);
      const T* factor = gradient + output * shape.channels;
      const T* value = x + input * shape.channels;
      for (int64_t column = 0; column < columns; ++column) {
#pragma GCC unroll 8
        for (int64_t n = 0; n < kCount; ++n) {
          Values left, right;
          read(factor + n * kLanes<Values>, left);
          read(value + n * kLanes<Values>, right);
          sums[n] += left * right;
        }
        factor += shape.channels;
        value += width.stride * shape.channels;
      }
    }
  }
  float lanes[kCount * kLanes<Values>];
  std::memcpy(lanes, sums, sizeof lanes);
  for (int64_t lane = 0; lane < kCount * kLanes<Values>; ++lane) totals[lane] += static_cast<double>(lanes[lane]);
}

template <typename Values, int kCount, typename T>
TENON_INLINE void add_channels(const T* gradient, const T* x, int64_t images, const DepthwiseShape& shape,
                               double* totals) {
  // Few enough products per tap that all taps read from the cache, and that sums in float are exact enough.
  constexpr int64_t kProducts = 128;
  const int64_t height = shape.height.output;
  const int64_t rows = std::clamp<int64_t>(kProducts / shape.width.output, 1, height);
  const int64_t at_once = std::max<int64_t>(1, rows < height ? 1 : kProducts / (height * shape.width.output));
  for (int64_t image = 0; image < images; image += at_once) {
    for (int64_t row = 0; row < height; row += rows) {
      const OutputRows some{image, std::min(image + at_once, images), row, std::min(row + rows, height)};
      for (int64_t i = 0; i < shape.height.kernel; ++i)
        for (int64_t j = 0; j < shape.width.kernel; ++j)
          add_tap<Values, kCount>(gradient, x, some, shape, i, j,
                                  totals + (i * shape.width.kernel + j) * shape.channels);
    }
  }
}

// Adds blocks of channels that kCount Floats hold. Returns the first channel that is left.
template <int kCount, typename T>
TENON_INLINE int64_t add_blocks(const T* gradient, const T* x, int64_t images, const DepthwiseShape& shape,
                                int64_t channel, int64_t end, double* sums) {
  constexpr int64_t kBlock = kCount * kLanes<Floats>;
  for (; channel + kBlock <= end; channel += kBlock)
    add_channels<Floats, kCount>(gradient + channel, x + channel, images, shape, sums + channel);
  return channel;
}

template <typename T>
TENON_INLINE void add_weight_gradient(const T* gradient, const T* x, int64_t images, const DepthwiseShape& shape,
                                      int64_t first, int64_t end, double* sums) {
  int64_t channel = first;
  channel = add_blocks<4>(gradient, x, images, shape, channel, end, sums);
  channel = add_blocks<2>(gradient, x, images, shape, channel, end, sums);
  channel = add_blocks<1>(gradient, x, images, shape, channel, end, sums);
  for (; channel < end; ++channel)
    add_channels<float, 1>(gradient + channel, x + channel, images, shape, sums + channel);
}

// TENON_KERNEL(NAME, ATTRIBUTES): the loops, compiled with the attributes.
#define TENON_KERNEL(NAME, ...)                                                                                    \
  template <typename T>                                                                                            \
  __VA_ARGS__ void NAME(const T* gradient, const T* x, int64_t images, const DepthwiseShape& shape, int64_t first, \
                        int64_t end, double* sums) {                                                               \
    add_weight_gradient(gradient, x, images, shape, first, end, sums);                                             \
  }

TENON_KERNEL(portable)
#if defined(__x86_64__)
TENON_KERNEL(avx2, TENON_AVX2)
#endif

}  // namespace

template <typename T>
AddWeightGradient<T> depthwise_weight_gradient() {
#if defined(__x86_64__)
  if (has_avx2()) return avx2<T>;
#endif
  return portable<T>;
}

template AddWeightGradient<float> depthwise_weight_gradient();
template AddWeightGradient<Bf16> depthwise_weight_gradient();

}  // namespace tenon::operators
