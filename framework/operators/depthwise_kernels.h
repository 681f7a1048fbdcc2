// The loops of the gradient of depthwise convolutions over channels_last images: [images, height, width, channels] in
// memory. Compiled for several instruction sets; the best one of this processor is chosen at run time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "framework/operators/channel_kernels.h"

namespace tenon::operators {

// One dimension of a convolution. Output o multiplies tap k of the kernel by input o * stride - padding + k * dilation.
struct ConvolutionAxis {
  int64_t input, output, kernel, stride, padding, dilation;

  int64_t input_of(int64_t out, int64_t tap) const { return out * stride - padding + tap * dilation; }
  // The outputs from `first_output` to `end_output` - 1 multiply the tap by an input inside of the image.
  int64_t first_output(int64_t tap) const {
    const int64_t outside = padding - tap * dilation;
    return outside > 0 ? (outside + stride - 1) / stride : 0;
  }
  int64_t end_output(int64_t tap) const {
    const int64_t last = input - 1 + padding - tap * dilation;
    return last < 0 ? 0 : std::min(output, last / stride + 1);
  }
};

struct DepthwiseShape {
  int64_t channels;
  ConvolutionAxis height, width;

  int64_t taps() const { return height.kernel * width.kernel; }
};

// Adds the gradient of the weights, summed over `images` images, to `sums`, which is [taps, channels]: the part of the
// channels from `first` to `end` - 1. The products are added over short runs in float, and the runs in double. The
// numbers depend on the shape and the number of images, and on nothing else.
template <typename T>
using AddWeightGradient = void (*)(const T* gradient, const T* x, int64_t images, const DepthwiseShape& shape,
                                   int64_t first, int64_t end, double* sums);

// T: float or Bf16.
template <typename T>
AddWeightGradient<T> depthwise_weight_gradient();

}  // namespace tenon::operators
