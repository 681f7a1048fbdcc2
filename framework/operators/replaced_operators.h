// Operators of LibTorch that are replaced in this process (batch_norm.cpp registers them).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

namespace tenon::operators {

// scaled_dot_product_attention, replaced for the CPU where it is slow: short sequences. The arguments and results are
// those of LibTorch's operators _scaled_dot_product_flash_attention_for_cpu and
// _scaled_dot_product_flash_attention_for_cpu_backward: query, output and its gradient [batch, heads, queries, head
// size], key and value [batch, heads, keys, head size], log_sum [batch, heads, queries].
//
// LibTorch divides queries and keys into blocks, and calls a library for each matrix product of a block. For short
// sequences these calls take a large part of the time. In float, such sequences are computed by the loops of
// attention_kernels.h, one head of a sample after the other. Finite results are those of LibTorch up to rounding, with
// any number of threads the same bits.
//
// The gradients of short sequences of bfloat16 and float16 are also computed in float: the arguments are converted
// before, and the results after. Only the results are rounded, while LibTorch also rounds the attention weights and,
// for each block of queries, the sums of the gradients of key and value.
//
// All others are LibTorch's.
std::tuple<at::Tensor, at::Tensor> attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                             double dropout, bool is_causal, const std::optional<at::Tensor>& mask,
                                             std::optional<double> scale);

std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(const at::Tensor& output_gradient,
                                                                  const at::Tensor& query, const at::Tensor& key,
                                                                  const at::Tensor& value, const at::Tensor& output,
                                                                  const at::Tensor& log_sum, double dropout,
                                                                  bool is_causal, const std::optional<at::Tensor>& mask,
                                                                  std::optional<double> scale);

// LibTorch's convolution_backward, replaced for the CPU because a kernel of oneDNN is faulty, and others slow. The
// arguments and results are those of LibTorch's operator.
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

// As torch.nn.functional.cross_entropy, replaced for the CPU. All losses that call it use it, so no plugin changes.
//
// LibTorch computes log_softmax and nll_loss: three passes over the logits in the forward and three in the backward,
// and two tensors of their size between them. Here it is one node: two passes in the forward, which keeps two numbers
// of each row, and one in the backward, which computes softmax again. Losses and gradients are those of LibTorch up to
// rounding, for any number of threads the same bits.
//
// Contiguous `logits` as float32 [N, C] and `target` as int64 [N] with a mean or a sum and without weights are computed
// as above, all others by LibTorch.
at::Tensor cross_entropy_loss(const at::Tensor& logits, const at::Tensor& target,
                              const std::optional<at::Tensor>& weight, int64_t reduction, c10::SymInt ignore_index,
                              double label_smoothing);

// The following have no deterministic implementation on CUDA devices in LibTorch. They are replaced for CUDA tensors,
// and composed of operators that have one. Without deterministic algorithms (torch.use_deterministic_algorithms), and
// where the windows of the pooling have different sizes, each calls LibTorch's implementation.

// aten::adaptive_avg_pool2d: the mean of equal windows, [..., H, W] -> [..., size[0], size[1]].
at::Tensor adaptive_avg_pool2d(const at::Tensor& input, c10::SymIntArrayRef size);

// aten::nll_loss_nd: [N, C, d...] as the loss of [N * d..., C].
at::Tensor nll_loss_nd(const at::Tensor& input, const at::Tensor& target, const std::optional<at::Tensor>& weight,
                       int64_t reduction, c10::SymInt ignore_index);

}  // namespace tenon::operators
