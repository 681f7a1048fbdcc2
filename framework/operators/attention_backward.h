// The backward of LibTorch's scaled_dot_product_attention, replaced in this process for the CPU, because it is slow for
// short sequences of bfloat16 and float16.
#pragma once

#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace tenon::operators {

// The arguments and results are those of LibTorch's operator _scaled_dot_product_flash_attention_for_cpu_backward:
// query and gradient of the output [batch, heads, queries, head size], key and value [batch, heads, keys, head size].
//
// LibTorch divides queries and keys into blocks, and for bfloat16 calls oneDNN for three of the five matrix products of
// each block. For small blocks a call takes several times as long as its product. These are computed in float: the
// arguments are converted before, and the results after. Only the results are rounded, while LibTorch's kernel also
// rounds the attention weights and, for each block of queries, the sums of the gradients of key and value. For large
// blocks and other types the kernel is LibTorch's.
std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(const at::Tensor& output_gradient,
                                                                  const at::Tensor& query, const at::Tensor& key,
                                                                  const at::Tensor& value, const at::Tensor& output,
                                                                  const at::Tensor& log_sum, double dropout,
                                                                  bool is_causal, const std::optional<at::Tensor>& mask,
                                                                  std::optional<double> scale);

}  // namespace tenon::operators
