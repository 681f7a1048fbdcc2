#include "framework/pipeline/loop/kept_weights.h"

#include <torch/types.h>

#include "framework/pipeline/device/tensor_storage.h"

namespace tenon::pipeline {

KeptWeights::KeptWeights(const components::Model& model) {
  for (const components::NamedTensor& named : model.tensors()) {
    if (!has_storage(named.tensor)) continue;  // only other ranks have it
    const at::Tensor copy =
        named.tensor.detach().to(at::kCPU, named.tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
    tensors_.emplace_back(named.tensor, copy);
  }
}

void KeptWeights::restore() const {
  const at::NoGradGuard no_grad;
  for (const auto& [tensor, copy] : tensors_) at::Tensor(tensor).copy_(copy);
}

}  // namespace tenon::pipeline
