#include "framework/pipeline/device/non_finite_flag.h"

#include <torch/types.h>

#include <cmath>
#include <vector>

#include "framework/pipeline/device/readback.h"

namespace tenon::pipeline {

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

}  // namespace tenon::pipeline
