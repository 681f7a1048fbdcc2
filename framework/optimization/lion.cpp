#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sign.h>

#include "framework/optimization/snapshot.h"
#include "framework/optimization/update_rule.h"

namespace tenon::optimization {
namespace {

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

}  // namespace

std::unique_ptr<UpdateRule> make_lion(const config::LionPlan& plan) { return std::make_unique<Lion>(plan); }

}  // namespace tenon::optimization
