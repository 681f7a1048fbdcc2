// The weights that a schedule-free optimizer evaluates, computed from its state.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/optimization/evaluation_weights.h"

namespace tenon::optimization {

// Takes memory for one copy of the parameters, only while the weights are evaluated or saved. Parameters that are
// frozen for the whole run are not copied.
class ScheduleFreeWeights final : public EvaluationWeights {
 public:
  // Replaces the tensors of those parameters that other processes update by the tensors of these processes. A
  // collective. `parameters`: their indices in the optimizer.
  using Gather = std::function<void(const std::vector<at::Tensor>& tensors, const std::vector<size_t>& parameters)>;

  // REQUIRES: the optimizer outlives this. `gather`: empty if this process updates all parameters.
  explicit ScheduleFreeWeights(const Optimizer& optimizer, Gather gather = {});
  // Only for some parameters, which this process updates. `is_owned`: one element per parameter.
  ScheduleFreeWeights(const Optimizer& optimizer, const std::vector<bool>& is_owned);

  void update() override { ++count_; }
  bool needs_all_processes() const override { return gather_ != nullptr; }

  std::vector<NamedTensor> weights_outside_model() override;

 private:
  void exchange() override;
  void make_others();

  const Optimizer& optimizer_;
  Gather gather_;
  std::vector<size_t> parameters_;   // indices in the optimizer
  std::vector<at::Tensor> weights_;  // of the model
  std::vector<at::Tensor> others_;   // empty: no memory is held
  bool is_in_model_ = false;         // whether the model has the weights for evaluation
};

}  // namespace tenon::optimization
