#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>

#include "framework/optimization/snapshot.h"
#include "framework/optimization/step_counters.h"
#include "framework/optimization/update_rule.h"

namespace tenon::optimization {
namespace {

std::vector<const char*> state_names_of(const config::RmsPropPlan& plan) {
  std::vector<const char*> state_names{"step", "square_avg"};
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

}  // namespace

std::unique_ptr<UpdateRule> make_rmsprop(const config::RmsPropPlan& plan) { return std::make_unique<RmsProp>(plan); }

}  // namespace tenon::optimization
