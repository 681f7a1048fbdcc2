// The optimizers: one call of a fused LibTorch kernel a step for all parameters with the same rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/optimizer_plan.h"
#include "framework/optimization/parameter_rates.h"
#include "framework/optimization/step_rates.h"
#include "framework/optimization/update_rule.h"

namespace tenon::optimization {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Optimizer {
 public:
  // Keeps the parameters (the tensors, not copies of them), and freezes those that the plan freezes in epoch 1. Throws
  // Error(plugin) naming a parameter that is not floating point, or whose elements overlap or have gaps in memory, for
  // the kernels walk memory and not strides; Error(configuration) as assign_rates().
  static std::unique_ptr<Optimizer> make(const config::OptimizerPlan& plan, std::vector<NamedTensor> parameters);

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter that has a gradient; the others keep value and state, as in PyTorch. Reads nothing from the
  // device. skip: undefined, or [] float32 on the parameters' device; where it is 1 nothing changes: no weight, no
  // figure of the state, no counter, though state of zeros may have come to be. Throws Error(plugin) naming the
  // parameter whose gradient is sparse.
  void step(const StepRates& rates, const at::Tensor& skip = {});

  // Before the first step of an epoch (from 1): freezes and unfreezes what the plan says, by requires_grad. A function
  // of the epoch alone, so that a resumed run calls it for its own.
  void start_epoch(int64_t epoch);

  // Releases the gradients, so that the next backward stores its own in place of adding to zeros.
  void zero_grad();

  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  // Of each of the parameters.
  const std::vector<ParameterRates>& parameter_rates() const { return rates_; }

  // The state itself, not a copy, by `<parameter>.<figure>` with PyTorch's names for the figures: `momentum_buffer` of
  // SGD; `exp_avg`, `exp_avg_sq` and `step` ([] float32) of AdamW. A parameter that never had a gradient has none. It
  // is what a checkpoint needs beside the weights for a run to be resumed exactly.
  std::vector<NamedTensor> state() const;

  // Puts in place what state() gave, from copies on any device. Throws Error(checkpoint) naming an entry that belongs
  // to no parameter or figure, whose shape or dtype differs, or that is missing beside others of its parameter.
  void load_state(const std::vector<NamedTensor>& state);

 private:
  // Parameters that one call of a kernel updates.
  struct Batch {
    UpdateRule* rule;
    double lr_scale;
    double weight_decay;
    std::vector<size_t> members;
    std::vector<size_t> active;  // those of them that had gradients in the last step
    UpdateLists lists;           // of the active ones; no gradients between steps, so that none is kept alive
    bool begins;                 // some state of the lists is yet undefined
  };

  Optimizer(const config::OptimizerPlan& plan, std::vector<NamedTensor> parameters);

  void make_rules(const config::OptimizerPlan& plan);
  UpdateRule* rule_of(size_t parameter) const;
  void make_batches();
  // Fills the batch's gradients and `active`; true if others of its parameters have some than in the step before.
  bool gather_gradients(Batch& batch);
  void make_lists(Batch& batch);
  void keep_begun_state(Batch& batch);
  void update(Batch& batch, const StepRates& rates, const at::Tensor& skip);

  std::vector<NamedTensor> parameters_;
  std::vector<ParameterRates> rates_;
  std::vector<std::unique_ptr<UpdateRule>> rules_;  // one; of Muon also AdamW's
  std::vector<std::vector<at::Tensor>> state_;      // [parameters][figures]; empty before the first gradient
  std::vector<Batch> batches_;
};

}  // namespace tenon::optimization
