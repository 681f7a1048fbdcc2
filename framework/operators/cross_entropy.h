// LibTorch's operator cross_entropy_loss, replaced in this process for the CPU. All losses that call it use it, so no
// plugin changes.
//
// LibTorch computes log_softmax and nll_loss: three passes over the logits in the forward and three in the backward,
// and two tensors of their size between them. Here it is one node: two passes in the forward, which keeps two numbers
// of each row, and one in the backward, which computes softmax again. Losses and gradients are those of LibTorch up to
// rounding, for any number of threads the same bits.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

namespace tenon::operators {

// As torch.nn.functional.cross_entropy. Contiguous `logits` as float32 [N, C] and `target` as int64 [N] with a mean or
// a sum and without weights are computed as above, all others by LibTorch.
at::Tensor cross_entropy_loss(const at::Tensor& logits, const at::Tensor& target,
                              const std::optional<at::Tensor>& weight, int64_t reduction, c10::SymInt ignore_index,
                              double label_smoothing);

}  // namespace tenon::operators
