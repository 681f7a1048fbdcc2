// LibTorch's scaled_dot_product_attention, replaced in this process for the CPU where it is slow: short sequences.
#pragma once

#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace tenon::operators {

// The arguments and results are those of LibTorch's operators _scaled_dot_product_flash_attention_for_cpu and
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

}  // namespace tenon::operators
