#include "framework/optimization/weight_average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "framework/support/compute/tensor_lists.h"

namespace tenon::optimization {

WeightAverage::WeightAverage(const config::AveragePlan& plan, const std::vector<NamedTensor>& tensors) : plan_(plan) {
  for (const NamedTensor& named : tensors) {
    const bool is_averaged = named.tensor.is_floating_point();
    (is_averaged ? names_ : followed_names_).push_back(named.name);
    (is_averaged ? weights_ : followed_weights_).push_back(named.tensor.detach());
    (is_averaged ? averages_ : followed_).push_back(at::empty_like(named.tensor.detach()));
  }
}

void WeightAverage::update() {
  const at::NoGradGuard no_grad;
  if (count_ == 0) {
    support::copy_values(averages_, weights_);
  } else {
    const bool is_ema = plan_.kind == config::AveragePlan::Kind::ema;
    const auto updates = static_cast<double>(count_);
    const double decay = plan_.warm_up ? std::min(plan_.decay, (1 + updates) / (10 + updates)) : plan_.decay;
    const double share = is_ema ? 1 - decay : 1 / (updates + 1);
    for (const support::TensorPairs& group : support::group_by_dtype(averages_, weights_))
      at::_foreach_lerp_(group.first, group.second, share);
  }
  support::copy_values(followed_, followed_weights_);
  ++count_;
}

std::vector<NamedTensor> WeightAverage::weights_outside_model() {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < names_.size(); ++i) tensors.push_back({names_[i], averages_[i]});
  for (size_t i = 0; i < followed_names_.size(); ++i) tensors.push_back({followed_names_[i], followed_[i]});
  return tensors;
}

void WeightAverage::exchange() {
  const at::NoGradGuard no_grad;
  support::swap_values(weights_, averages_);
  support::swap_values(followed_weights_, followed_);
}

}  // namespace tenon::optimization
