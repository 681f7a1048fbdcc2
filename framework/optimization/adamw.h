// AdamW, as torch.optim.AdamW(fused=True).
#pragma once

#include <vector>

#include "framework/optimization/optimizer.h"

namespace tenon::optimization {

// Loshchilov and Hutter, "Decoupled weight decay regularization", arXiv:1711.05101.
class AdamW final : public Optimizer {
 public:
  AdamW(const config::AdamWPlan& plan, std::vector<NamedTensor> parameters);
  std::vector<NamedTensor> state() const override;

 private:
  struct Moments {
    at::Tensor exp_avg;  // both as the parameter; undefined before its first gradient
    at::Tensor exp_avg_sq;
    at::Tensor step;  // [] float32, steps taken
  };

  void select(const std::vector<size_t>& active) override;
  void update(const std::vector<at::Tensor>& gradients, double learning_rate) override;

  config::AdamWPlan plan_;
  std::vector<Moments> moments_;  // of all parameters
  // The kernel's lists for the active parameters.
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> exp_avgs_;
  std::vector<at::Tensor> exp_avg_sqs_;
  std::vector<at::Tensor> steps_;
};

}  // namespace tenon::optimization
