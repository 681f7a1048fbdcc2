#include "framework/optimization/schedule_free_weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "framework/support/compute/tensor_lists.h"

namespace tenon::optimization {

ScheduleFreeWeights::ScheduleFreeWeights(const Optimizer& optimizer, Gather gather)
    : ScheduleFreeWeights(optimizer, std::vector<bool>(optimizer.parameters().size(), true)) {
  gather_ = std::move(gather);
}

ScheduleFreeWeights::ScheduleFreeWeights(const Optimizer& optimizer, const std::vector<bool>& is_owned)
    : optimizer_(optimizer) {
  for (size_t i = 0; i < optimizer.parameters().size(); ++i) {
    if (!is_owned[i] || optimizer.parameter_rates()[i].is_always_frozen()) continue;
    parameters_.push_back(i);
    weights_.push_back(optimizer.parameters()[i].tensor.detach());
  }
}

void ScheduleFreeWeights::make_others() {
  if (!others_.empty()) return;
  for (const at::Tensor& weights : weights_) others_.push_back(at::empty_like(weights));
}

std::vector<NamedTensor> ScheduleFreeWeights::weights_outside_model() {
  make_others();
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < others_.size(); ++i)
    tensors.push_back({optimizer_.parameters()[parameters_[i]].name, others_[i]});
  return tensors;
}

// The weights of training are kept, not computed from the average, so that an evaluation changes no bit of them.
void ScheduleFreeWeights::exchange() {
  const at::NoGradGuard no_grad;
  make_others();
  if (!is_in_model_) {
    for (size_t i = 0; i < others_.size(); ++i) others_[i].copy_(optimizer_.evaluation_weights(parameters_[i]));
    if (gather_) gather_(others_, parameters_);
  }
  support::swap_values(weights_, others_);
  is_in_model_ = !is_in_model_;
  if (!is_in_model_) others_.clear();
}

}  // namespace tenon::optimization
