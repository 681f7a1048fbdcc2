#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

#include <cstdint>

#include "framework/optimization/flush_denormals.h"
#include "framework/optimization/step_counters.h"
#include "framework/optimization/update_rule.h"

namespace tenon::optimization {
namespace {

using StateNames = std::vector<const char*>;

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
           /*maximize=*/false, /*grad_scale=*/std::nullopt, skip.defined() ? std::optional(skip) : std::nullopt);
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

}  // namespace

std::unique_ptr<UpdateRule> make_adam(const config::AdamPlan& plan) { return std::make_unique<Adam>(plan); }

}  // namespace tenon::optimization
