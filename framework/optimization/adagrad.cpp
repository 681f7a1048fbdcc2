#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/full_like.h>

#include "framework/optimization/step_counters.h"
#include "framework/optimization/update_rule.h"

namespace tenon::optimization {
namespace {

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
                        rates.weight_decay, plan_.eps, /*maximize=*/false, /*grad_scale=*/{},
                        skip.defined() ? std::optional(skip) : std::nullopt);
    correct(steps, skip);
  }

 private:
  config::AdagradPlan plan_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adagrad(const config::AdagradPlan& plan) { return std::make_unique<Adagrad>(plan); }

}  // namespace tenon::optimization
