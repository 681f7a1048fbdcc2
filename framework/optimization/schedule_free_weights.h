// The weights that a schedule-free optimizer evaluates, computed from its state.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/optimization/evaluation_weights.h"

namespace tenon::optimization {

// Takes memory for one copy of the parameters, only while the weights are evaluated or saved. Parameters that are
// frozen for the whole run are not copied.
class ScheduleFreeWeights final : public EvaluationWeights {
 public:
  // REQUIRES: the optimizer outlives this.
  explicit ScheduleFreeWeights(const Optimizer& optimizer);

  void update() override { ++count_; }

  std::vector<NamedTensor> put_by() override;

 private:
  void exchange() override;
  void make_others();

  const Optimizer& optimizer_;
  std::vector<size_t> parameters_;   // indices in the optimizer
  std::vector<at::Tensor> weights_;  // of the model
  std::vector<at::Tensor> others_;   // empty: no memory is held
  bool is_in_model_ = false;         // whether the model has the weights for evaluation
};

}  // namespace tenon::optimization
