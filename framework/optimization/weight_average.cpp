#include "framework/optimization/weight_average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_neg.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "framework/support/tensor_lists.h"

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
  try {
    restore();
  } catch (const std::exception&) {
    // Only a failed device refuses. The exception that is being thrown reports it.
  }
}

void WeightAverage::InPlace::restore() {
  if (WeightAverage* const average = std::exchange(average_, nullptr)) average->exchange();
}

// Swaps the values, not the tensors, because a plugin may hold views of its weights, which would still refer to the old
// storage. Sums and differences of the bits as integers need no other memory, so it also works if none is left.
void WeightAverage::exchange() {
  const at::NoGradGuard no_grad;
  const auto swap = [](const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (const auto& [first, second] : support::group_by_dtype(support::bits_of(a), support::bits_of(b))) {
      at::_foreach_add_(first, second);  // a + b, b
      at::_foreach_sub_(second, first);  // a + b, -a
      at::_foreach_add_(first, second);  // b, -a
      at::_foreach_neg_(second);         // b, a
    }
  };
  swap(weights_, averages_);
  swap(followed_weights_, followed_);
}

}  // namespace tenon::optimization
