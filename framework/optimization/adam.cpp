#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

#include "framework/optimization/step_counters.h"
#include "framework/optimization/update_rule.h"

namespace tenon::optimization {
namespace {

using MetricValues = std::vector<const char*>;

class Adam final : public UpdateRule {
 public:
  explicit Adam(const config::AdamPlan& plan)
      : UpdateRule(plan.amsgrad ? MetricValues{"exp_avg", "exp_avg_sq", "step", "max_exp_avg_sq"}
                                : MetricValues{"exp_avg", "exp_avg_sq", "step"}),
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
  }

 private:
  config::AdamPlan plan_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adam(const config::AdamPlan& plan) { return std::make_unique<Adam>(plan); }

}  // namespace tenon::optimization
