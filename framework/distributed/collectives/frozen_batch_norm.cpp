#include "framework/distributed/collectives/frozen_batch_norm.h"

#include "framework/operators/batch_norm.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::distributed {

using operators::batch_norm_hooks;

FrozenBatchNorm::FrozenBatchNorm() { TENON_CHECK(batch_norm_hooks().frozen.empty(), "batch norms are already frozen"); }

FrozenBatchNorm::~FrozenBatchNorm() { batch_norm_hooks().frozen.clear(); }

void FrozenBatchNorm::set(const std::vector<at::Tensor>& running_means) {
  batch_norm_hooks().frozen.clear();
  for (const at::Tensor& mean : running_means) batch_norm_hooks().frozen.insert(mean.const_data_ptr());
}

}  // namespace tenon::distributed
