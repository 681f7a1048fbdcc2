#include "framework/optimization/weight_average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/empty_like.h>

namespace tenon::optimization {

WeightAverage::WeightAverage(const config::AveragePlan& plan, std::vector<NamedTensor> tensors) : plan_(plan) {
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
    at::_foreach_copy_(averages_, weights_);
  } else {
    const bool is_ema = plan_.kind == config::AveragePlan::Kind::ema;
    const double share = is_ema ? 1 - plan_.decay : 1 / static_cast<double>(count_ + 1);
    at::_foreach_lerp_(averages_, weights_, share);
  }
  if (!followed_.empty()) at::_foreach_copy_(followed_, followed_weights_);
  ++count_;
}

std::vector<NamedTensor> WeightAverage::put_by() const {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < names_.size(); ++i) tensors.push_back({names_[i], averages_[i]});
  for (size_t i = 0; i < followed_names_.size(); ++i) tensors.push_back({followed_names_[i], followed_[i]});
  return tensors;
}

WeightAverage::InPlace::InPlace(WeightAverage* average)
    : average_(average && average->count() > 0 ? average : nullptr) {
  if (average_) average_->exchange();
}

WeightAverage::InPlace::~InPlace() {
  if (average_) average_->exchange();
}

// Copies the values, because a plugin may hold views of its weights, which would still refer to the old storage.
void WeightAverage::exchange() {
  const at::NoGradGuard no_grad;
  const auto swap = [](std::vector<at::Tensor>& a, std::vector<at::Tensor>& b) {
    if (a.empty()) return;
    std::vector<at::Tensor> kept;
    for (const at::Tensor& tensor : a) kept.push_back(tensor.clone());
    at::_foreach_copy_(a, b);
    at::_foreach_copy_(b, kept);
  };
  swap(weights_, averages_);
  swap(followed_weights_, followed_);
}

}  // namespace tenon::optimization
