#include "framework/operators/replaced_operators.h"

#include <ATen/ops/convolution_backward_native.h>
#include <torch/types.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "framework/operators/channel_kernels.h"
#include "framework/operators/depthwise_kernels.h"
#include "framework/operators/for_each_part.h"

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

// Whether oneDNN has only a slow kernel for the gradient of the input.
bool has_slow_kernel(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef stride, bool transposed,
                     int64_t groups) {
  return at::isReducedFloatingType(input.scalar_type()) && !transposed && groups > 1 && weight.dim() == 4 &&
         weight.size(1) == 1 && std::ranges::any_of(stride, [](int64_t number) { return number != 1; });
}

// Whether oneDNN adds the gradient of the bias one by one.
bool has_slow_bias(const at::Tensor& input, bool transposed) {
  return transposed && at::isFloatingType(input.scalar_type()) && is_channels_last(input);
}

at::Tensor add_up_channels(const at::Tensor& output_gradient) {
  std::vector<int64_t> others{0};
  for (int64_t dim = 2; dim < output_gradient.dim(); ++dim) others.push_back(dim);
  return output_gradient.sum(others);
}

at::Tensor take_every(at::IntArrayRef stride, at::Tensor image) {
  const at::MemoryFormat format = image.suggest_memory_format();
  for (size_t i = 0; i < stride.size(); ++i)
    image = image.slice(static_cast<int64_t>(i) + 2, std::nullopt, std::nullopt, stride[i]);
  return image.contiguous(format);
}

bool is_fast_type(at::ScalarType type) { return type == at::kFloat || type == at::kBFloat16; }

// Returns the shape of a depthwise convolution for which depthwise_weight_gradient() has a kernel; otherwise, and for
// arguments that LibTorch refuses, nothing.
std::optional<DepthwiseShape> find_depthwise_shape(const at::Tensor& output_gradient, const at::Tensor& input,
                                                   const at::Tensor& weight, at::IntArrayRef stride,
                                                   at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                                                   int64_t groups) {
  const std::array<const at::Tensor*, 3> tensors = {&output_gradient, &input, &weight};
  const bool is_plain = std::ranges::all_of(tensors, [&](const at::Tensor* tensor) {
    return tensor->dim() == 4 && tensor->is_cpu() && tensor->layout() == at::kStrided && tensor->numel() > 0 &&
           tensor->scalar_type() == input.scalar_type();
  });
  if (!is_plain || !is_fast_type(input.scalar_type()) || transposed || groups < 2) return std::nullopt;
  if (input.size(1) != groups || weight.size(0) != groups || weight.size(1) != 1) return std::nullopt;
  if (!input.is_contiguous(at::MemoryFormat::ChannelsLast)) return std::nullopt;
  if (stride.size() != 2 || padding.size() != 2 || dilation.size() != 2) return std::nullopt;
  const auto axis = [&](size_t number) {
    const auto at = static_cast<int64_t>(number) + 2;
    return ConvolutionAxis{input.size(at), output_gradient.size(at), weight.size(at),
                           stride[number], padding[number],          dilation[number]};
  };
  const DepthwiseShape shape{groups, axis(0), axis(1)};
  const auto is_valid = [](const ConvolutionAxis& one) {
    if (one.stride < 1 || one.dilation < 1 || one.padding < 0) return false;
    const int64_t last = one.input + 2 * one.padding - one.dilation * (one.kernel - 1) - 1;
    return last >= 0 && one.output == last / one.stride + 1;
  };
  const bool fits = output_gradient.size(0) == input.size(0) && output_gradient.size(1) == groups;
  if (!fits || !is_valid(shape.height) || !is_valid(shape.width)) return std::nullopt;
  return shape;
}

// The work is divided by images and by channels. The parts do not depend on the number of threads, and so the sums do
// not.
template <typename T>
at::Tensor depthwise_gradient(const at::Tensor& output_gradient, const at::Tensor& input, const at::Tensor& weight,
                              const DepthwiseShape& shape) {
  constexpr int64_t kChannels = 32, kPixels = 1024, kProducts = 32768;  // of a part, and at least of a thread
  const at::Tensor gradient = output_gradient.contiguous(at::MemoryFormat::ChannelsLast);
  const int64_t images = input.size(0), pixels = shape.height.output * shape.width.output;
  const int64_t shares = std::clamp<int64_t>(images * pixels / kPixels, 1, std::min<int64_t>(images, 16));
  const int64_t blocks = (shape.channels + kChannels - 1) / kChannels;
  const int64_t taps = shape.taps();
  const auto weights = static_cast<size_t>(taps * shape.channels);
  std::vector<double> sums(static_cast<size_t>(shares) * weights);
  const int64_t products = images * pixels * taps * shape.channels;
  const AddWeightGradient<T> add = depthwise_weight_gradient<T>();
  for_each_part(shares * blocks, std::max<int64_t>(1, kProducts * shares * blocks / products), [&](int64_t part) {
    const int64_t share = part / blocks, first = part % blocks * kChannels;
    const int64_t first_image = images * share / shares, end_image = images * (share + 1) / shares;
    add(static_cast<const T*>(gradient.const_data_ptr()) + first_image * pixels * shape.channels,
        static_cast<const T*>(input.const_data_ptr()) +
            first_image * shape.height.input * shape.width.input * shape.channels,
        end_image - first_image, shape, first, std::min(first + kChannels, shape.channels),
        &sums[static_cast<size_t>(share) * weights]);
  });
  at::Tensor result = at::empty(weight.sizes(), at::kFloat);
  float* const written = result.mutable_data_ptr<float>();
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      double sum = 0;
      for (int64_t share = 0; share < shares; ++share)
        sum += sums[static_cast<size_t>(share) * weights + static_cast<size_t>(tap * shape.channels + channel)];
      written[channel * taps + tap] = static_cast<float>(sum);
    }
  }
  return result.to(weight.scalar_type());
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& output_gradient, const at::Tensor& input, const at::Tensor& weight,
    at::OptionalIntArrayRef bias_sizes, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
    bool transposed, at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> output_mask) {
  using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
  const auto compute = [&](const at::Tensor& from, at::IntArrayRef with_stride, std::array<bool, 3> mask) -> Gradients {
    return at::native::convolution_backward(output_gradient, from, weight, bias_sizes, with_stride, padding, dilation,
                                            transposed, output_padding, groups, mask);
  };
  if (output_mask[2] && has_slow_bias(input, transposed)) {
    Gradients gradients;
    if (output_mask[0] || output_mask[1]) gradients = compute(input, stride, {output_mask[0], output_mask[1], false});
    std::get<2>(gradients) = add_up_channels(output_gradient);
    return gradients;
  }
  if (output_mask[0] && has_slow_kernel(input, weight, stride, transposed, groups)) {
    // LibTorch reads only the shape of this tensor.
    const at::Tensor shape = at::empty_like(input, input.options().dtype(at::kFloat));
    const at::Tensor of_input = std::get<0>(at::native::convolution_backward(
        output_gradient.to(at::kFloat), shape, weight.to(at::kFloat), bias_sizes, stride, padding, dilation, transposed,
        output_padding, groups, {true, false, false}));
    Gradients gradients;
    if (output_mask[1] || output_mask[2])
      gradients =
          operators::convolution_backward(output_gradient, input, weight, bias_sizes, stride, padding, dilation,
                                          transposed, output_padding, groups, {false, output_mask[1], output_mask[2]});
    std::get<0>(gradients) = of_input.to(input.scalar_type());
    return gradients;
  }
  if (!output_mask[1]) return compute(input, stride, output_mask);
  if (const auto shape =
          find_depthwise_shape(output_gradient, input, weight, stride, padding, dilation, transposed, groups)) {
    Gradients gradients;
    if (output_mask[0] || output_mask[2]) gradients = compute(input, stride, {output_mask[0], false, output_mask[2]});
    std::get<1>(gradients) = input.scalar_type() == at::kFloat
                                 ? depthwise_gradient<float>(output_gradient, input, weight, *shape)
                                 : depthwise_gradient<Bf16>(output_gradient, input, weight, *shape);
    return gradients;
  }
  if (!has_faulty_kernel(input, weight, stride, padding, transposed)) return compute(input, stride, output_mask);
  const std::vector<int64_t> unit(stride.size(), 1);
  auto gradients = compute(take_every(stride, input), unit, {false, true, output_mask[2]});
  if (output_mask[0]) std::get<0>(gradients) = std::get<0>(compute(input, stride, {true, false, false}));
  return gradients;
}

}  // namespace tenon::operators
