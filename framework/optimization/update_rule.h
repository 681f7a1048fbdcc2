// The update rules of SGD, Adam and other optimizers, with LibTorch's kernels for lists of tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/optimizer_plan.h"

namespace tenon::optimization {

// The parameters of one kernel call: the same dtype, device and rates.
struct UpdateLists {
  std::vector<at::Tensor> tensors;
  std::vector<at::Tensor> gradients;           // with the shapes and strides of `tensors`
  std::vector<std::vector<at::Tensor>> state;  // [state names][tensors]
  // Of schedule-free AdamW: the indices of tensors with equal counters. Empty until the rule has found them.
  std::vector<std::vector<size_t>> groups = {};
};

struct UpdateRates {
  double learning_rate;
  double weight_decay;
  std::optional<double> momentum;  // replaces the rule's momentum
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  UpdateRule(const UpdateRule&) = delete;
  UpdateRule& operator=(const UpdateRule&) = delete;

  // The names of the state kept for each parameter, as in PyTorch's state_dict(); may be empty.
  const std::vector<const char*>& state_names() const { return state_names_; }

  // The initial state of a parameter. If it is undefined, the first step creates it.
  virtual at::Tensor make_state(size_t index, const at::Tensor& parameter) const {
    return make_zeros(index, parameter);
  }

  // Zeros in the shape of the state: the parameter's shape, or [] float32 for "step".
  virtual at::Tensor make_zeros(size_t index, const at::Tensor& parameter) const;

  // The weights to evaluate and save, if they are not those of training. `state`: of this parameter.
  virtual at::Tensor evaluation_weights(const at::Tensor& parameter, const std::vector<at::Tensor>& /*state*/) const {
    return parameter;
  }

  // Runs one step without autograd. skip: undefined, or [] float32 on the tensors' device; if it is 1, nothing changes.
  virtual void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) = 0;

 protected:
  explicit UpdateRule(std::vector<const char*> state_names) : state_names_(std::move(state_names)) {}

 private:
  std::vector<const char*> state_names_;
};

// torch.optim.SGD. Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013, as
// implemented in PyTorch: the first gradient becomes the momentum, without dampening. With dampening, a step in which
// parameters get their first gradients reads `skip`.
std::unique_ptr<UpdateRule> make_rule(const config::SgdPlan& plan);

// torch.optim.Adam and AdamW. Kingma and Ba, arXiv:1412.6980; Loshchilov and Hutter, arXiv:1711.05101; amsgrad: Reddi
// et al., arXiv:1904.09237.
std::unique_ptr<UpdateRule> make_rule(const config::AdamPlan& plan);

// torch.optim.RMSprop. Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning"; centered: Graves,
// arXiv:1308.0850.
std::unique_ptr<UpdateRule> make_rule(const config::RmsPropPlan& plan);

// torch.optim.Adagrad. Duchi et al., JMLR 12 (2011).
std::unique_ptr<UpdateRule> make_rule(const config::AdagradPlan& plan);

// Chen et al., "Symbolic discovery of optimization algorithms", arXiv:2302.06675, algorithm 2.
std::unique_ptr<UpdateRule> make_rule(const config::LionPlan& plan);

// torch.optim.Muon, for matrices only. Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024);
// match_rms_adamw: Liu et al., arXiv:2502.16982. REQUIRES: every tensor has two dimensions.
std::unique_ptr<UpdateRule> make_rule(const config::MuonPlan& plan);

// AdamWScheduleFree of the package schedulefree. Defazio et al., "The road less scheduled", arXiv:2405.15682. Training
// updates the weights y; evaluation_weights() are their average x. The warm-up is that of the schedule. On a device, a
// step in which other parameters get gradients than in the step before reads their counters.
std::unique_ptr<UpdateRule> make_rule(const config::ScheduleFreeAdamWPlan& plan);

// Undoes skipped steps, for update rules with kernels that cannot skip. Copies the tensors and their state, only if
// skip is defined.
class Snapshot {
 public:
  Snapshot(const UpdateLists& lists, const at::Tensor& skip);

  // Restores the lists' tensors from the copy if skip is 1; decided on the device.
  void restore_if_skipped(UpdateLists& lists) const;

 private:
  at::Tensor skip_;  // [] float32, or undefined
  std::vector<at::Tensor> tensors_;
  std::vector<std::vector<at::Tensor>> state_;
};

// Replaces the denormal elements by zeros of the same sign, if the tensor is float32 in host memory. Processors need
// many times as long for denormal numbers as for others. REQUIRES: the tensor has no gaps in memory.
void flush_denormals(const at::Tensor& tensor);

}  // namespace tenon::optimization
