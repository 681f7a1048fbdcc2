#include "framework/pipeline/device/non_finite_flag.h"

#include <torch/types.h>

#include <cmath>

#include "framework/pipeline/device/readback.h"
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

NonFiniteFlag::NonFiniteFlag(const c10::Device& device)
    : flag_(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat))), one_(at::ones({}, flag_.options())) {}

// The kernel of loss scales checks all values in one launch. It also multiplies them in place, here by 1, so it gets a
// copy. It does not support bfloat16 on CUDA. On the CPU, reading a scalar is much faster than a kernel call.
void NonFiniteFlag::note(const at::Tensor& values) {
  const at::NoGradGuard no_grad;
  if (values.is_cpu() && values.numel() == 1) {
    if (!std::isfinite(read_scalar(values))) flag_.fill_(1);
    return;
  }
  const at::ScalarType dtype = at::promote_types(values.scalar_type(), at::kFloat);
  const std::vector<at::Tensor> copies{values.detach().to(dtype, /*non_blocking=*/false, /*copy=*/true)};
  at::_amp_foreach_non_finite_check_and_unscale_(copies, flag_, one_);
}

void NonFiniteFlag::clear() { flag_.zero_(); }

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
