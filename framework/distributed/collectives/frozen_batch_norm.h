// Batch norms that normalise with fixed running statistics in training, without changes to the model, as
// torchvision.ops.FrozenBatchNorm2d.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/operators/batch_norm.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::distributed {

// During its lifetime, LibTorch's operator batch_norm computes as in evaluation if its running mean is one of those
// set: it normalises with the running statistics and does not update them. The gradients are those of evaluation. At
// most one instance may exist. Not thread-safe: use it on the training thread, between two batches.
class FrozenBatchNorm {
 public:
  FrozenBatchNorm() { TENON_CHECK(operators::batch_norm_hooks().frozen.empty(), "batch norms are already frozen"); }
  ~FrozenBatchNorm() { operators::batch_norm_hooks().frozen.clear(); }
  FrozenBatchNorm(const FrozenBatchNorm&) = delete;
  FrozenBatchNorm& operator=(const FrozenBatchNorm&) = delete;

  // Replaces those set before. The tensors are recognised by their memory, which must stay where it is.
  void set(const std::vector<at::Tensor>& running_means) {
    operators::batch_norm_hooks().frozen.clear();
    for (const at::Tensor& mean : running_means) operators::batch_norm_hooks().frozen.insert(mean.const_data_ptr());
  }
};

}  // namespace tenon::distributed
