#include "framework/optimization/evaluation_weights.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/empty_like.h>

#include "framework/support/compute/tensor_lists.h"

namespace tenon::optimization {

EvaluationWeights::InPlace::InPlace(EvaluationWeights* weights)
    : weights_(weights && weights->count() > 0 ? weights : nullptr) {
  if (weights_) weights_->exchange();
}

EvaluationWeights::InPlace::~InPlace() {
  try {
    restore();
  } catch (const std::exception&) {
    // Only a failed device refuses. The exception that is being thrown reports it.
  }
}

void EvaluationWeights::InPlace::restore() {
  if (EvaluationWeights* const weights = std::exchange(weights_, nullptr)) weights->exchange();
}

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
