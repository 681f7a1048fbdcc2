// Batch normalisation over the batches of all ranks, without changes to the model (Ioffe and Szegedy, arXiv:1502.03167;
// over devices as in torch.nn.SyncBatchNorm).
#pragma once

#include "framework/distributed/collectives/process_group.h"

namespace tenon::distributed {

// During its lifetime, LibTorch's operator batch_norm computes mean and variance over the batches of all ranks in
// training. Native models and models of portable operators both use this operator. All ranks must call it equally
// often. At most one instance may exist. It applies to the training thread and the threads of its backward.
class SynchronizedBatchNorm {
 public:
  explicit SynchronizedBatchNorm(ProcessGroup& group);
  ~SynchronizedBatchNorm();
  SynchronizedBatchNorm(const SynchronizedBatchNorm&) = delete;
  SynchronizedBatchNorm& operator=(const SynchronizedBatchNorm&) = delete;

  // With true, the current batch belongs to another rank. It is computed only to join the collectives, and the
  // statistics ignore it.
  void set_borrowed(bool is_borrowed);
};

}  // namespace tenon::distributed
