// Operators of LibTorch that have no deterministic implementation on CUDA devices, composed of operators that have one.
// They replace the operator in this process for CUDA tensors.
#pragma once

#include <ATen/core/Tensor.h>

namespace tenon::operators {

// Without deterministic algorithms (torch.use_deterministic_algorithms), and where the windows of the pooling have
// different sizes, each calls LibTorch's implementation.

// aten::adaptive_avg_pool2d: the mean of equal windows, [..., H, W] -> [..., size[0], size[1]].
at::Tensor adaptive_avg_pool2d(const at::Tensor& input, c10::SymIntArrayRef size);

// aten::nll_loss_nd: [N, C, d...] as the loss of [N * d..., C].
at::Tensor nll_loss_nd(const at::Tensor& input, const at::Tensor& target, const std::optional<at::Tensor>& weight,
                       int64_t reduction, c10::SymInt ignore_index);

}  // namespace tenon::operators
