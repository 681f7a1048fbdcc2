#include "framework/pipeline/device/finite_buffers.h"

#include <torch/types.h>

#include "framework/pipeline/device/tensor_storage.h"

namespace tenon::pipeline {

namespace {

// One tensor needs few kernels, and there may be hundreds of buffers.
at::Tensor join(const std::vector<at::Tensor>& buffers) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& buffer : buffers) flat.push_back(buffer.flatten());
  return at::cat(flat);
}

}  // namespace

FiniteBuffers::FiniteBuffers(const components::Model& model) {
  for (const components::NamedTensor& named : model.tensors())
    if (!named.trainable && !named.is_frozen_parameter && at::isFloatingType(named.tensor.scalar_type()) &&
        has_storage(named.tensor))
      groups_[named.tensor.scalar_type()].buffers.push_back(named.tensor.detach());
  for (auto& [dtype, group] : groups_) group.kept = join(group.buffers);
}

void FiniteBuffers::restore() {
  const at::NoGradGuard no_grad;
  for (auto& [dtype, group] : groups_) {
    const at::Tensor found = join(group.buffers);
    group.kept = at::where(found.isfinite(), found, group.kept);
    std::vector<at::Tensor> values;
    int64_t first = 0;
    for (const at::Tensor& buffer : group.buffers) {
      values.push_back(group.kept.narrow(0, first, buffer.numel()).view(buffer.sizes()));
      first += buffer.numel();
    }
    at::_foreach_copy_(group.buffers, values);
  }
}

}  // namespace tenon::pipeline
