// LibTorch's operator convolution_backward, replaced in this process for the CPU, because a kernel of oneDNN is faulty,
// and others slow.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace tenon::operators {

// The arguments and results are those of LibTorch's operator.
//
// The gradient of the weights of depthwise convolutions, for float and bfloat16 images in channels_last, is computed by
// depthwise_weight_gradient(). For small images oneDNN copies each channel (im2col) before it multiplies, and takes up
// to 100 times as long.
//
// The gradient of the input of depthwise convolutions with a stride, for bfloat16 and float16, is computed in float:
// oneDNN's kernel for bfloat16 takes 6 to 140 times as long as that for float.
//
// The gradient of the bias of transposed convolutions, for images in channels_last, is computed by sum(). oneDNN adds
// its values one by one, and takes 10 times as long.
//
// For 1 x 1 convolutions with a stride, images in channels_last and fewer channels than a vector register has floats,
// the gradient of the weights is computed with stride 1 from every stride-th pixel. oneDNN's kernel would copy these
// pixels to a buffer that is too small, and write beyond its end (https://github.com/uxlfoundation/oneDNN/issues/6035).
std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& output_gradient, const at::Tensor& input, const at::Tensor& weight,
    at::OptionalIntArrayRef bias_sizes, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
    bool transposed, at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> output_mask);

}  // namespace tenon::operators
