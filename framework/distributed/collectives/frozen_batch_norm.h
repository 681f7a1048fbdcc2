// Batch norms that normalise with fixed running statistics in training, without changes to the model, as
// torchvision.ops.FrozenBatchNorm2d.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::distributed {

// During its lifetime, LibTorch's operator batch_norm computes as in evaluation if its running mean is one of those
// set: it normalises with the running statistics and does not update them. The gradients are those of evaluation. At
// most one instance may exist. Not thread-safe: use it on the training thread, between two batches.
class FrozenBatchNorm {
 public:
  FrozenBatchNorm();
  ~FrozenBatchNorm();
  FrozenBatchNorm(const FrozenBatchNorm&) = delete;
  FrozenBatchNorm& operator=(const FrozenBatchNorm&) = delete;

  // Replaces those set before. The tensors are recognised by their memory, which must stay where it is.
  void set(const std::vector<at::Tensor>& running_means);
};

}  // namespace tenon::distributed
