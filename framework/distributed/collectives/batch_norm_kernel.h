// LibTorch's operator batch_norm, replaced in this process. Native models, models of portable operators and exported
// graphs all use this operator.
#pragma once

#include <memory>
#include <optional>
#include <unordered_set>

#include <ATen/core/Tensor.h>

namespace tenon::distributed {

// What the operator does in training. Change it on the training thread, between two calls.
struct BatchNormHooks {
  // Replaces the computation with the statistics of the batch. Null: LibTorch's.
  at::Tensor (*normalise)(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& running_mean, const at::Tensor& running_variance, double momentum,
                          double epsilon) = nullptr;
  // Layers with a running mean at one of these addresses compute as in evaluation.
  std::unordered_set<const void*> frozen = {};
};
BatchNormHooks& batch_norm_hooks();

// Installs the replacement while at least one result lives. LibTorch implements the operator with other operators for
// all devices. A kernel for the autograd keys takes precedence.
std::shared_ptr<void> install_batch_norm_kernel();

}  // namespace tenon::distributed
