#include <algorithm>
#include <cmath>
#include <compare>
#include <map>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/zeros.h>

#include "framework/optimization/update_rule.h"

namespace tenon::optimization {
namespace {

enum StateIndex : size_t { kZ, kExpAvgSq, kStep, kLrMax, kWeightSum };

// The counters of a parameter, in host memory because the coefficients of an update are computed from them. The sum
// has double precision: a float would stop growing in long runs.
struct Progress {
  float step = 0;
  double lr_max = 0;
  double weight_sum = 0;

  auto operator<=>(const Progress&) const = default;
};

std::vector<at::Tensor> take(const std::vector<at::Tensor>& tensors, const std::vector<size_t>& indices) {
  std::vector<at::Tensor> taken;
  taken.reserve(indices.size());
  for (const size_t index : indices) taken.push_back(tensors[index]);
  return taken;
}

// Every parameter has its counters, so that one that gets gradients later, such as after frozen epochs, starts like the
// others. In the package they belong to a group of parameters.
class ScheduleFreeAdamW final : public UpdateRule {
 public:
  explicit ScheduleFreeAdamW(const config::ScheduleFreeAdamWPlan& plan)
      : UpdateRule({"z", "exp_avg_sq", "step", "lr_max", "weight_sum"}), plan_(plan) {}

  at::Tensor make_state(size_t index, const at::Tensor& parameter) const override {
    return index == kZ ? parameter.detach().clone() : make_zeros(index, parameter);
  }

  at::Tensor make_zeros(size_t index, const at::Tensor& parameter) const override {
    if (index == kZ || index == kExpAvgSq) return UpdateRule::make_zeros(index, parameter);
    return at::zeros({}, at::TensorOptions(at::kCPU).dtype(index == kStep ? at::kFloat : at::kDouble));
  }

  // x = y + (1 - 1 / beta1) (z - y), because y = (1 - beta1) z + beta1 x.
  at::Tensor evaluation_weights(const at::Tensor& parameter, const std::vector<at::Tensor>& state) const override {
    return parameter.lerp(state[kZ], 1 - 1 / plan_.betas[0]);
  }

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    if (skip.defined() && skip.item<float>() != 0) return;
    // Parameters that began in the same step have equal coefficients, so they need one call of each kernel.
    std::map<Progress, std::vector<size_t>> groups;
    for (size_t i = 0; i < lists.tensors.size(); ++i)
      groups[advance_counters(lists, i, rates.learning_rate)].push_back(i);
    for (const auto& [progress, members] : groups) descend(lists, members, progress, rates);
  }

 private:
  double weight_of(const Progress& progress) const {
    return std::pow(static_cast<double>(progress.step), plan_.r) * std::pow(progress.lr_max, plan_.weight_lr_power);
  }

  Progress advance_counters(UpdateLists& lists, size_t i, double learning_rate) const {
    auto* const step = lists.state[kStep][i].mutable_data_ptr<float>();
    auto* const lr_max = lists.state[kLrMax][i].mutable_data_ptr<double>();
    auto* const weight_sum = lists.state[kWeightSum][i].mutable_data_ptr<double>();
    *step += 1;
    *lr_max = std::max(*lr_max, learning_rate);
    *weight_sum += weight_of({*step, *lr_max, 0});
    return {*step, *lr_max, *weight_sum};
  }

  // The operations and their order are those of the package with foreach, so that roundings are equal.
  void descend(const UpdateLists& lists, const std::vector<size_t>& members, const Progress& progress,
               const UpdateRates& rates) const {
    const auto [beta1, beta2] = plan_.betas;
    const double lr = rates.learning_rate;
    // The sum is 0 if all learning rates so far were.
    const double share = progress.weight_sum == 0 ? 0 : weight_of(progress) / progress.weight_sum;
    const std::vector<at::Tensor> y = take(lists.tensors, members);
    const std::vector<at::Tensor> z = take(lists.state[kZ], members);
    const std::vector<at::Tensor> squares = take(lists.state[kExpAvgSq], members);
    const std::vector<at::Tensor> gradients = take(lists.gradients, members);
    at::_foreach_mul_(squares, beta2);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - beta2);
    std::vector<at::Tensor> divisors = at::_foreach_div(squares, 1 - std::pow(beta2, progress.step));
    at::_foreach_sqrt_(divisors);
    at::_foreach_add_(divisors, plan_.eps);
    const std::vector<at::Tensor> updates = at::_foreach_div(gradients, divisors);
    divisors.clear();
    if (rates.weight_decay != 0) at::_foreach_add_(updates, y, rates.weight_decay);
    at::_foreach_lerp_(y, z, share);
    at::_foreach_add_(y, updates, lr * (beta1 * (1 - share) - 1));
    at::_foreach_sub_(z, updates, lr);
  }

  config::ScheduleFreeAdamWPlan plan_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_schedule_free_adamw(const config::ScheduleFreeAdamWPlan& plan) {
  return std::make_unique<ScheduleFreeAdamW>(plan);
}

}  // namespace tenon::optimization
