// The optimizers: one call of a fused LibTorch kernel per step for all parameters with the same rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/optimizer_plan.h"
#include "framework/optimization/parameter_rates.h"
#include "framework/optimization/schedule.h"
#include "framework/optimization/update_rule.h"

namespace tenon::optimization {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Optimizer {
 public:
  // Keeps the parameters (the tensors, not copies of them), and freezes those that the plan freezes in epoch 1. Throws
  // Error(plugin) naming a parameter that is not floating point, or has overlaps or gaps in memory: the kernels ignore
  // strides. Throws Error(configuration) as assign_rates() does.
  static std::unique_ptr<Optimizer> make(const config::OptimizerPlan& plan, std::vector<NamedTensor> parameters);

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Divides the parameters between processes: steps update only these, and only these have a state. Call it before the
  // first step. `is_owned`: one element per parameter. By default all are updated.
  void update_only(std::vector<bool> is_owned);

  // Updates every parameter that has a gradient; the others keep value and state, as in PyTorch. Does not synchronise
  // with the device, unless the update rule reads `skip`. skip: undefined, or [] float32 on the parameters' device. If
  // it is 1, no weight, state or counter changes, though zero-initialised state may be created. Throws Error(plugin)
  // naming a parameter with a sparse gradient.
  void step(const StepRates& rates, const at::Tensor& skip = {});

  // Call it before the first step of an epoch (from 1). Freezes and unfreezes parameters by requires_grad, as the plan
  // says. Depends only on the epoch, so a resumed run calls it for its current epoch.
  void start_epoch(int64_t epoch);

  // The weights of a parameter to evaluate and save: the parameter itself, except for schedule-free optimizers, which
  // return a new tensor with the average.
  at::Tensor evaluation_weights(size_t parameter) const;

  // Releases the gradients, so that the next backward stores new ones instead of adding to zeros.
  void zero_grad();

  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  // One element per parameter.
  const std::vector<ParameterRates>& parameter_rates() const { return rates_; }

  // The state itself, not a copy, named `<parameter>.<state>` as in PyTorch: `momentum_buffer` for SGD; `exp_avg`,
  // `exp_avg_sq` and `step` ([] float32) for AdamW. A parameter that never had a gradient has none. A checkpoint needs
  // this in addition to the weights to resume a run exactly.
  std::vector<NamedTensor> state() const;

  // Restores the result of state(), copied from any device. With update_only(), `state` has the entries of all
  // processes, and those of the other parameters are ignored. Throws Error(checkpoint) naming an entry that has no
  // matching parameter or state, has another shape or dtype, or is missing while its parameter has other entries.
  void load_state(const std::vector<NamedTensor>& state);

 private:
  // Parameters that are updated by one kernel call.
  struct Batch {
    UpdateRule* rule;
    double lr_scale;
    double weight_decay;
    std::vector<size_t> members;
    std::vector<size_t> active;  // members with a gradient in the last step
    UpdateLists lists;           // of the active ones; gradients are cleared between steps to free them
    bool begins;                 // some state of the lists is still undefined
  };

  Optimizer(const config::OptimizerPlan& plan, std::vector<NamedTensor> parameters);

  UpdateRule* rule_of(size_t parameter) const;
  void make_batches();
  // Fills the batch's gradients and `active`. Returns true if `active` changed since the step before.
  bool gather_gradients(Batch& batch);
  void make_lists(Batch& batch);
  void update(Batch& batch, const StepRates& rates, const at::Tensor& skip);

  std::vector<NamedTensor> parameters_;
  std::vector<ParameterRates> rates_;
  std::vector<bool> is_owned_;                      // whether step() updates the parameter
  std::vector<std::unique_ptr<UpdateRule>> rules_;  // one; two for Muon, which also needs AdamW
  std::vector<std::vector<at::Tensor>> state_;      // [parameters][state names]; empty before the first gradient
  std::vector<Batch> batches_;
};

}  // namespace tenon::optimization
