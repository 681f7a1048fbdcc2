#include "framework/distributed/collectives/frozen_batch_norm.h"

#include "framework/distributed/collectives/batch_norm_kernel.h"
#include "framework/support/check.h"

namespace tenon::distributed {

FrozenBatchNorm::FrozenBatchNorm() : kernel_(install_batch_norm_kernel()) {
  TENON_CHECK(batch_norm_hooks().frozen.empty(), "batch norms are already frozen");
}

FrozenBatchNorm::~FrozenBatchNorm() { batch_norm_hooks().frozen.clear(); }

void FrozenBatchNorm::set(const std::vector<at::Tensor>& running_means) {
  batch_norm_hooks().frozen.clear();
  for (const at::Tensor& mean : running_means) batch_norm_hooks().frozen.insert(mean.const_data_ptr());
}

}  // namespace tenon::distributed
