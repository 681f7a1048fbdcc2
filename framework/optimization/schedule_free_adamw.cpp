#include <algorithm>
#include <cmath>
#include <compare>
#include <map>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "framework/optimization/update_rule.h"

namespace tenon::optimization {
namespace {

enum StateIndex : size_t { kZ, kExpAvgSq, kStep, kLrMax, kWeightSum };

// The values of the counters of a parameter.
struct Progress {
  double step = 0;
  double lr_max = 0;
  double weight_sum = 0;

  auto operator<=>(const Progress&) const = default;
};

// The coefficients of an update. Number: double; at::Tensor, [] in the dtype of the parameters and on their device, if
// the host does not know whether steps were skipped.
template <class Number>
struct Coefficients {
  Number share;       // of z in the new average
  Number correction;  // of the bias of exp_avg_sq
  Number change;      // of y, as a factor of the update
};

std::vector<at::Tensor> take(const std::vector<at::Tensor>& tensors, const std::vector<size_t>& indices) {
  std::vector<at::Tensor> taken;
  taken.reserve(indices.size());
  for (const size_t index : indices) taken.push_back(tensors[index]);
  return taken;
}

// One copy from the device.
std::vector<double> read(const std::vector<at::Tensor>& scalars) {
  const at::Tensor values = at::stack(scalars).to(at::kCPU, at::kDouble);
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

void average(const std::vector<at::Tensor>& y, const std::vector<at::Tensor>& z, double share) {
  at::_foreach_lerp_(y, z, share);
}

void average(const std::vector<at::Tensor>& y, const std::vector<at::Tensor>& z, const at::Tensor& share) {
  const std::vector<at::Tensor> changes = at::_foreach_sub(z, y);
  at::_foreach_mul_(changes, share);
  at::_foreach_add_(y, changes);
}

void add(const std::vector<at::Tensor>& y, const std::vector<at::Tensor>& updates, double factor) {
  at::_foreach_add_(y, updates, factor);
}

void add(const std::vector<at::Tensor>& y, const std::vector<at::Tensor>& updates, const at::Tensor& factor) {
  at::_foreach_add_(y, at::_foreach_mul(updates, factor));
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
    // The sum has double precision: a float would stop growing in long runs.
    return at::zeros({}, parameter.options().dtype(index == kStep ? at::kFloat : at::kDouble));
  }

  // x = y + (1 - 1 / beta1) (z - y), because y = (1 - beta1) z + beta1 x.
  at::Tensor evaluation_weights(const at::Tensor& parameter, const std::vector<at::Tensor>& state) const override {
    return parameter.lerp(state[kZ], 1 - 1 / plan_.betas[0]);
  }

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    if (lists.groups.empty()) lists.groups = group_by_progress(lists);
    if (!lists.tensors.front().is_cpu()) {
      const Snapshot snapshot(lists, skip);
      const std::vector<Coefficients<at::Tensor>> coefficients = advance_on_device(lists, rates.learning_rate);
      for (size_t i = 0; i < coefficients.size(); ++i) descend(lists, lists.groups[i], coefficients[i], rates);
      snapshot.restore_if_skipped(lists);
    } else if (!skip.defined() || skip.item<float>() == 0) {
      for (const std::vector<size_t>& members : lists.groups)
        descend(lists, members, advance_on_host(lists, members, rates.learning_rate), rates);
    }
  }

 private:
  // Parameters with equal counters have equal coefficients, so they need one call of each kernel. The groups stay as
  // they are as long as the same parameters get gradients.
  static std::vector<std::vector<size_t>> group_by_progress(const UpdateLists& lists) {
    const std::vector<double> steps = read(lists.state[kStep]);
    const std::vector<double> lr_max = read(lists.state[kLrMax]);
    const std::vector<double> weight_sums = read(lists.state[kWeightSum]);
    std::map<Progress, std::vector<size_t>> groups;
    for (size_t i = 0; i < steps.size(); ++i) groups[{steps[i], lr_max[i], weight_sums[i]}].push_back(i);
    std::vector<std::vector<size_t>> list;
    for (auto& [progress, members] : groups) list.push_back(std::move(members));
    return list;
  }

  Coefficients<double> advance_on_host(const UpdateLists& lists, const std::vector<size_t>& members,
                                       double learning_rate) const {
    const size_t first = members.front();
    const float step = *lists.state[kStep][first].const_data_ptr<float>() + 1;
    const double lr_max = std::max(*lists.state[kLrMax][first].const_data_ptr<double>(), learning_rate);
    const double weight = std::pow(static_cast<double>(step), plan_.r) * std::pow(lr_max, plan_.weight_lr_power);
    const double weight_sum = *lists.state[kWeightSum][first].const_data_ptr<double>() + weight;
    for (const size_t i : members) {
      *lists.state[kStep][i].mutable_data_ptr<float>() = step;
      *lists.state[kLrMax][i].mutable_data_ptr<double>() = lr_max;
      *lists.state[kWeightSum][i].mutable_data_ptr<double>() = weight_sum;
    }
    // The sum is 0 if all learning rates so far were.
    const double share = weight_sum == 0 ? 0 : weight / weight_sum;
    return {share, 1 - std::pow(plan_.betas[1], step), learning_rate * (plan_.betas[0] * (1 - share) - 1)};
  }

  // As advance_on_host(), for all groups, one element for each in the tensors.
  std::vector<Coefficients<at::Tensor>> advance_on_device(const UpdateLists& lists, double learning_rate) const {
    std::vector<size_t> firsts;
    for (const std::vector<size_t>& members : lists.groups) firsts.push_back(members.front());
    at::_foreach_add_(lists.state[kStep], 1);
    at::_foreach_clamp_min_(lists.state[kLrMax], learning_rate);
    const at::Tensor step = at::stack(take(lists.state[kStep], firsts)).to(at::kDouble);
    const at::Tensor lr_max = at::stack(take(lists.state[kLrMax], firsts));
    const at::Tensor weight = step.pow(plan_.r) * lr_max.pow(plan_.weight_lr_power);
    const std::vector<at::Tensor> weights = weight.unbind();
    for (size_t i = 0; i < weights.size(); ++i)
      at::_foreach_add_(take(lists.state[kWeightSum], lists.groups[i]), weights[i]);
    const at::Tensor weight_sum = at::stack(take(lists.state[kWeightSum], firsts));
    const at::Tensor share = at::where(weight_sum == 0, weight_sum, weight / weight_sum);
    const at::ScalarType dtype = lists.tensors.front().scalar_type();
    const std::vector<at::Tensor> shares = share.to(dtype).unbind();
    const std::vector<at::Tensor> corrections = (1 - at::pow(plan_.betas[1], step)).to(dtype).unbind();
    const std::vector<at::Tensor> changes = (learning_rate * (plan_.betas[0] * (1 - share) - 1)).to(dtype).unbind();
    std::vector<Coefficients<at::Tensor>> coefficients;
    for (size_t i = 0; i < shares.size(); ++i) coefficients.push_back({shares[i], corrections[i], changes[i]});
    return coefficients;
  }

  // The operations and their order are those of the package with foreach, so that roundings are equal on the CPU.
  template <class Number>
  void descend(const UpdateLists& lists, const std::vector<size_t>& members, const Coefficients<Number>& coefficients,
               const UpdateRates& rates) const {
    const double beta2 = plan_.betas[1];
    const std::vector<at::Tensor> y = take(lists.tensors, members);
    const std::vector<at::Tensor> z = take(lists.state[kZ], members);
    const std::vector<at::Tensor> squares = take(lists.state[kExpAvgSq], members);
    const std::vector<at::Tensor> gradients = take(lists.gradients, members);
    at::_foreach_mul_(squares, beta2);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - beta2);
    std::vector<at::Tensor> divisors = at::_foreach_div(squares, coefficients.correction);
    at::_foreach_sqrt_(divisors);
    at::_foreach_add_(divisors, plan_.eps);
    const std::vector<at::Tensor> updates = at::_foreach_div(gradients, divisors);
    divisors.clear();
    if (rates.weight_decay != 0) at::_foreach_add_(updates, y, rates.weight_decay);
    average(y, z, coefficients.share);
    add(y, updates, coefficients.change);
    at::_foreach_sub_(z, updates, rates.learning_rate);
  }

  config::ScheduleFreeAdamWPlan plan_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_rule(const config::ScheduleFreeAdamWPlan& plan) {
  return std::make_unique<ScheduleFreeAdamW>(plan);
}

}  // namespace tenon::optimization
