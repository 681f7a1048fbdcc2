// A running average of the weights, the same as torch.optim.swa_utils.AveragedModel(use_buffers=True).
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/run_plan.h"
#include "framework/optimization/evaluation_weights.h"

namespace tenon::optimization {

// Floating-point tensors are averaged, including batch statistics, so these need no extra pass over the data. Other
// tensors (counters) are copied.
class WeightAverage final : public EvaluationWeights {
 public:
  // Keeps the tensors, not copies of them.
  WeightAverage(const config::AveragePlan& plan, const std::vector<NamedTensor>& tensors);

  // Adds the current weights to the average; the first update copies them.
  void update() override;

  std::vector<NamedTensor> weights_outside_model() override;

 private:
  void exchange() override;

  config::AveragePlan plan_;
  std::vector<std::string> names_, followed_names_;
  std::vector<at::Tensor> weights_;  // of the model, averaged
  std::vector<at::Tensor> averages_;
  std::vector<at::Tensor> followed_weights_;
  std::vector<at::Tensor> followed_;
};

}  // namespace tenon::optimization
