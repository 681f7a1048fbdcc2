#include "framework/operators/convolution_backward.h"

#include <ATen/ops/convolution_backward_native.h>
#include <torch/types.h>

#include <algorithm>
#include <vector>

namespace tenon::operators {

namespace {

// The channels of a block in oneDNN's kernels for AVX-512. Those for AVX2 have 8.
constexpr int64_t kBlock = 16;

bool is_channels_last(const at::Tensor& tensor) {
  const at::MemoryFormat format = tensor.suggest_memory_format();
  return format == at::MemoryFormat::ChannelsLast || format == at::MemoryFormat::ChannelsLast3d;
}

// Whether oneDNN copies every stride-th pixel to a buffer that may be too small.
bool has_faulty_kernel(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef stride,
                       at::IntArrayRef padding, bool transposed) {
  const auto is_one = [](int64_t number) { return number == 1; };
  const auto is_zero = [](int64_t number) { return number == 0; };
  return !transposed && weight.dim() >= 4 && weight.size(1) < kBlock &&
         std::ranges::all_of(weight.sizes().slice(2), is_one) && !std::ranges::all_of(stride, is_one) &&
         std::ranges::all_of(padding, is_zero) && (is_channels_last(input) || is_channels_last(weight));
}

at::Tensor take_every(at::IntArrayRef stride, at::Tensor image) {
  const at::MemoryFormat format = image.suggest_memory_format();
  for (size_t i = 0; i < stride.size(); ++i)
    image = image.slice(static_cast<int64_t>(i) + 2, std::nullopt, std::nullopt, stride[i]);
  return image.contiguous(format);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& output_gradient, const at::Tensor& input, const at::Tensor& weight,
    at::OptionalIntArrayRef bias_sizes, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
    bool transposed, at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> output_mask) {
  const auto compute = [&](const at::Tensor& from, at::IntArrayRef with_stride, std::array<bool, 3> mask) {
    return at::native::convolution_backward(output_gradient, from, weight, bias_sizes, with_stride, padding, dilation,
                                            transposed, output_padding, groups, mask);
  };
  if (!output_mask[1] || !has_faulty_kernel(input, weight, stride, padding, transposed))
    return compute(input, stride, output_mask);
  const std::vector<int64_t> unit(stride.size(), 1);
  auto gradients = compute(take_every(stride, input), unit, {false, true, output_mask[2]});
  if (output_mask[0]) std::get<0>(gradients) = std::get<0>(compute(input, stride, {true, false, false}));
  return gradients;
}

}  // namespace tenon::operators
