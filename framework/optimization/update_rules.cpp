#include "framework/optimization/update_rule.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sign.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/zeros_like.h>

#include "framework/support/compute/tensor_lists.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::optimization {
namespace {

using StateNames = std::vector<const char*>;

// The step counters that Adam, RMSprop and Adagrad keep for each parameter, [] float32 on its device. Adds one: the
// kernels expect counts that include the current step.
void advance(std::vector<at::Tensor>& steps) {
  // A float in host memory needs no operator call.
  if (steps.front().is_cpu()) {
    for (at::Tensor& step : steps) *step.mutable_data_ptr<float>() += 1;
  } else {
    at::_foreach_add_(steps, 1);
  }
}

// Reverts advance() if skip, [] float32 on the counters' device, is 1. Does nothing if skip is undefined.
void correct(std::vector<at::Tensor>& steps, const at::Tensor& skip) {
  if (skip.defined()) at::_foreach_sub_(steps, std::vector<at::Tensor>(steps.size(), skip));
}

// What the fused kernels take: none if the step cannot be skipped.
std::optional<at::Tensor> found_inf_of(const at::Tensor& skip) {
  return skip.defined() ? std::optional(skip) : std::nullopt;
}

class Sgd final : public UpdateRule {
 public:
  explicit Sgd(const config::SgdPlan& plan)
      : UpdateRule(plan.momentum != 0 ? StateNames{"momentum_buffer"} : StateNames{}), plan_(plan) {}

  // Without dampening, a zero momentum buffer becomes the first gradient. With dampening, the kernel must know that the
  // momentum starts, which an undefined buffer indicates.
  at::Tensor make_state(size_t index, const at::Tensor& parameter) const override {
    return plan_.dampening == 0 ? make_zeros(index, parameter) : at::Tensor();
  }

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    const auto is_defined = [](const at::Tensor& buffer) { return buffer.defined(); };
    if (plan_.momentum == 0 || plan_.dampening == 0 || std::ranges::all_of(lists.state.front(), is_defined)) {
      call_kernel(lists.tensors, lists.gradients, buffers_of(lists), rates, Momentum::continues, skip);
    } else if (!skip.defined() || skip.item<float>() == 0) {
      begin(lists, rates);
    }
  }

 private:
  enum class Momentum { begins, continues };

  at::TensorList buffers_of(const UpdateLists& lists) const {
    return plan_.momentum == 0 ? at::TensorList() : at::TensorList(lists.state.front());
  }

  // The kernel takes a single is-first-step flag for all its tensors, but parameters may get their first gradients in
  // different steps. If both kinds are present, it is called twice.
  void begin(UpdateLists& lists, const UpdateRates& rates) {
    std::vector<at::Tensor> tensors[2], gradients[2], buffers[2];
    for (size_t i = 0; i < lists.tensors.size(); ++i) {
      at::Tensor& buffer = lists.state.front()[i];
      const int begins = buffer.defined() ? 0 : 1;
      if (begins) buffer = at::zeros_like(lists.tensors[i]);
      tensors[begins].push_back(lists.tensors[i]);
      gradients[begins].push_back(lists.gradients[i]);
      buffers[begins].push_back(buffer);
    }
    call_kernel(tensors[1], gradients[1], buffers[1], rates, Momentum::begins, {});
    if (!tensors[0].empty()) call_kernel(tensors[0], gradients[0], buffers[0], rates, Momentum::continues, {});
  }

  void call_kernel(at::TensorList tensors, at::TensorList gradients, at::TensorList buffers, const UpdateRates& rates,
                   Momentum momentum, const at::Tensor& skip) {
    // LibTorch 2.11 skips most elements of 16-bit tensors on the CPU (github.com/pytorch/pytorch/issues/191763).
    if (tensors.front().is_cpu() && tensors.front().element_size() == 2) {
      const std::vector<at::Tensor> wide = floats_of(tensors), wide_buffers = floats_of(buffers);
      call_kernel(wide, floats_of(gradients), wide_buffers, rates, momentum, skip);
      support::copy_values(tensors.vec(), wide);
      support::copy_values(buffers.vec(), wide_buffers);
      return;
    }
    const double kept = plan_.momentum == 0 ? 0 : rates.momentum.value_or(plan_.momentum);
    at::_fused_sgd_(tensors, gradients, buffers, rates.weight_decay, kept, rates.learning_rate, plan_.dampening,
                    plan_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/momentum == Momentum::begins, /*grad_scale=*/{}, found_inf_of(skip));
  }

  static std::vector<at::Tensor> floats_of(at::TensorList tensors) {
    std::vector<at::Tensor> floats;
    for (const at::Tensor& tensor : tensors) floats.push_back(tensor.to(at::kFloat));
    return floats;
  }

  config::SgdPlan plan_;
};

class Adam final : public UpdateRule {
 public:
  explicit Adam(const config::AdamPlan& plan)
      : UpdateRule(plan.amsgrad ? StateNames{"exp_avg", "exp_avg_sq", "step", "max_exp_avg_sq"}
                                : StateNames{"exp_avg", "exp_avg_sq", "step"}),
        plan_(plan) {}

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    std::vector<at::Tensor>& steps = lists.state[2];
    const at::TensorList largest = plan_.amsgrad ? at::TensorList(lists.state[3]) : at::TensorList();
    const auto kernel = [&](const auto& call) {
      call(lists.tensors, lists.gradients, lists.state[0], lists.state[1], largest, steps, rates.learning_rate,
           rates.momentum.value_or(plan_.betas[0]), plan_.betas[1], rates.weight_decay, plan_.eps, plan_.amsgrad,
           /*maximize=*/false, /*grad_scale=*/std::nullopt, found_inf_of(skip));
    };
    advance(steps);
    if (plan_.decay == config::AdamPlan::Decay::coupled)
      kernel([](const auto&... arguments) { at::_fused_adam_(arguments...); });
    else
      kernel([](const auto&... arguments) { at::_fused_adamw_(arguments...); });
    correct(steps, skip);
    if (!skip.defined() && steps.front().is_cpu()) flush(lists);
  }

 private:
  // The averages of weights without gradients, such as those of inactive units or rare words, decay to denormal numbers
  // and stay there. The kernel then takes several times as long. A weight changes by
  //   learning rate * exp_avg / (sqrt(exp_avg_sq) + eps),
  // so with zeros in their place every weight keeps its bits: see decision 0048. The counters decide, so that the
  // result does not depend on where a run was resumed or on which process updates the parameter.
  void flush(const UpdateLists& lists) const {
    constexpr int64_t kPeriod = 128;
    const bool squares_are_below_eps = plan_.eps >= 1.2e-10;
    for (size_t i = 0; i < lists.tensors.size(); ++i) {
      if (static_cast<int64_t>(*lists.state[2][i].const_data_ptr<float>()) % kPeriod != 0) continue;
      flush_denormals(lists.state[0][i]);
      if (squares_are_below_eps) flush_denormals(lists.state[1][i]);
    }
  }

  config::AdamPlan plan_;
};

StateNames state_names_of(const config::RmsPropPlan& plan) {
  StateNames state_names{"step", "square_avg"};
  if (plan.centered) state_names.push_back("grad_avg");
  if (plan.momentum > 0) state_names.push_back("momentum_buffer");
  return state_names;
}

// The operations and their order are those of torch.optim.RMSprop(foreach=True), so that roundings are equal.
class RmsProp final : public UpdateRule {
 public:
  explicit RmsProp(const config::RmsPropPlan& plan) : UpdateRule(state_names_of(plan)), plan_(plan) {}

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    const Snapshot before(lists, skip);
    advance(lists.state[0]);
    if (rates.weight_decay == 0)
      descend(lists, lists.gradients, rates);
    else
      descend(lists, at::_foreach_add(lists.gradients, lists.tensors, rates.weight_decay), rates);
    before.restore_if_skipped(lists);
  }

 private:
  void descend(UpdateLists& lists, const std::vector<at::Tensor>& gradients, const UpdateRates& rates) {
    const std::vector<at::Tensor> divisors = update_divisors(lists, gradients);
    if (plan_.momentum == 0) {
      at::_foreach_addcdiv_(lists.tensors, gradients, divisors, -rates.learning_rate);
      return;
    }
    const std::vector<at::Tensor>& buffers = lists.state.back();
    at::_foreach_mul_(buffers, rates.momentum.value_or(plan_.momentum));
    at::_foreach_addcdiv_(buffers, gradients, divisors);
    at::_foreach_add_(lists.tensors, buffers, -rates.learning_rate);
  }

  std::vector<at::Tensor> update_divisors(UpdateLists& lists, const std::vector<at::Tensor>& gradients) {
    const std::vector<at::Tensor>& squares = lists.state[1];
    at::_foreach_mul_(squares, plan_.alpha);
    at::_foreach_addcmul_(squares, gradients, gradients, 1 - plan_.alpha);
    std::vector<at::Tensor> divisors;
    if (plan_.centered) {
      const std::vector<at::Tensor>& means = lists.state[2];
      at::_foreach_lerp_(means, gradients, 1 - plan_.alpha);
      divisors = at::_foreach_addcmul(squares, means, means, -1);
      at::_foreach_sqrt_(divisors);
    } else {
      divisors = at::_foreach_sqrt(squares);
    }
    at::_foreach_add_(divisors, plan_.eps);
    return divisors;
  }

  config::RmsPropPlan plan_;
};

class Adagrad final : public UpdateRule {
 public:
  explicit Adagrad(const config::AdagradPlan& plan) : UpdateRule({"sum", "step"}), plan_(plan) {}

  at::Tensor make_state(size_t index, const at::Tensor& parameter) const override {
    return index == 0 ? at::full_like(parameter, plan_.initial_accumulator_value) : make_zeros(index, parameter);
  }

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    std::vector<at::Tensor>& steps = lists.state[1];
    advance(steps);
    at::_fused_adagrad_(lists.tensors, lists.gradients, lists.state[0], steps, rates.learning_rate, plan_.lr_decay,
                        rates.weight_decay, plan_.eps, /*maximize=*/false, /*grad_scale=*/{}, found_inf_of(skip));
    correct(steps, skip);
  }

 private:
  config::AdagradPlan plan_;
};

class Lion final : public UpdateRule {
 public:
  explicit Lion(const config::LionPlan& plan) : UpdateRule({"exp_avg"}), plan_(plan) {}

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    const Snapshot before(lists, skip);
    const double beta1 = rates.momentum.value_or(plan_.betas[0]);
    const std::vector<at::Tensor>& momenta = lists.state[0];
    const std::vector<at::Tensor> updates = at::_foreach_mul(momenta, beta1);
    at::_foreach_add_(updates, lists.gradients, 1 - beta1);
    at::_foreach_sign_(updates);
    if (rates.weight_decay != 0) at::_foreach_mul_(lists.tensors, 1 - rates.learning_rate * rates.weight_decay);
    at::_foreach_add_(lists.tensors, updates, -rates.learning_rate);
    at::_foreach_mul_(momenta, plan_.betas[1]);
    at::_foreach_add_(momenta, lists.gradients, 1 - plan_.betas[1]);
    before.restore_if_skipped(lists);
  }

 private:
  config::LionPlan plan_;
};

class Muon final : public UpdateRule {
 public:
  explicit Muon(const config::MuonPlan& plan) : UpdateRule({"momentum_buffer"}), plan_(plan) {}

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    const Snapshot before(lists, skip);
    const double momentum = rates.momentum.value_or(plan_.momentum);
    for (size_t i = 0; i < lists.tensors.size(); ++i) {
      at::Tensor& tensor = lists.tensors[i];
      at::Tensor& buffer = lists.state[0][i];
      TENON_CHECK(tensor.dim() == 2, tensor.dim() << " dimensions");
      buffer.lerp_(lists.gradients[i], 1 - momentum);
      const at::Tensor update = plan_.nesterov ? lists.gradients[i].lerp(buffer, momentum) : buffer;
      tensor.mul_(1 - rates.learning_rate * rates.weight_decay);
      tensor.add_(orthogonalize(update), -rates.learning_rate * ratio(tensor));
    }
    before.restore_if_skipped(lists);
  }

 private:
  // Approximates U V^T for update = U S V^T, with the quintic Newton-Schulz iteration in bfloat16.
  at::Tensor orthogonalize(const at::Tensor& update) const {
    const auto [a, b, c] = plan_.ns_coefficients;
    const bool is_tall = update.size(0) > update.size(1);
    at::Tensor x = update.to(at::kBFloat16);
    if (is_tall) x = x.t();
    x = x.div(x.norm().clamp_min(plan_.eps));
    for (int64_t step = 0; step < plan_.ns_steps; ++step) {
      const at::Tensor gram = at::matmul(x, x.t());
      x = at::addmm(x, at::addmm(gram, gram, gram, /*beta=*/b, /*alpha=*/c), x, /*beta=*/a);
    }
    return is_tall ? x.t() : x;
  }

  double ratio(const at::Tensor& matrix) const {
    const auto rows = static_cast<double>(matrix.size(0));
    const auto columns = static_cast<double>(matrix.size(1));
    if (plan_.adjust_lr == config::MuonPlan::AdjustLr::match_rms_adamw) return 0.2 * std::sqrt(std::max(rows, columns));
    return std::sqrt(std::max(1.0, rows / columns));
  }

  config::MuonPlan plan_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_rule(const config::SgdPlan& plan) { return std::make_unique<Sgd>(plan); }
std::unique_ptr<UpdateRule> make_rule(const config::AdamPlan& plan) { return std::make_unique<Adam>(plan); }
std::unique_ptr<UpdateRule> make_rule(const config::RmsPropPlan& plan) { return std::make_unique<RmsProp>(plan); }
std::unique_ptr<UpdateRule> make_rule(const config::AdagradPlan& plan) { return std::make_unique<Adagrad>(plan); }
std::unique_ptr<UpdateRule> make_rule(const config::LionPlan& plan) { return std::make_unique<Lion>(plan); }
std::unique_ptr<UpdateRule> make_rule(const config::MuonPlan& plan) { return std::make_unique<Muon>(plan); }

}  // namespace tenon::optimization
