// Batch normalisation over the batches of all ranks, for models that know nothing of ranks (Ioffe and Szegedy,
// arXiv:1502.03167; over devices as in torch.nn.SyncBatchNorm).
#pragma once

#include <memory>

#include "framework/distributed/process_group.h"

namespace tenon::distributed {

// While it lives, LibTorch's own operator batch_norm, which both native models and those of portable operators come
// down to, takes mean and variance over the batches of all ranks where it trains. All ranks call it equally often. At
// most one at a time; on the thread that trains, and those of its backward.
class SynchronizedBatchNorm {
 public:
  explicit SynchronizedBatchNorm(ProcessGroup& group);
  ~SynchronizedBatchNorm();
  SynchronizedBatchNorm(const SynchronizedBatchNorm&) = delete;
  SynchronizedBatchNorm& operator=(const SynchronizedBatchNorm&) = delete;

  // Whether the batch in hand is another rank's, computed here only to meet the others: it does not count.
  void set_borrowed(bool is_borrowed);

 private:
  class Installed;
  std::unique_ptr<Installed> installed_;
};

}  // namespace tenon::distributed
