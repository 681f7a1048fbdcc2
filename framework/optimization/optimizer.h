// The optimizers: one call of a fused LibTorch kernel a step.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/run_plan.h"

namespace tenon::optimization {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Optimizer {
 public:
  // Keeps the parameters (the tensors, not copies of them). Throws Error(plugin) naming a parameter that is not
  // floating point, or whose elements overlap or have gaps in memory, for the kernels walk memory and not strides.
  static std::unique_ptr<Optimizer> make(const config::OptimizerPlan& plan, std::vector<NamedTensor> parameters);

  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter that has a gradient; the others keep value and state, as in PyTorch. Reads nothing from the
  // device. Throws Error(plugin) naming the parameter whose gradient is sparse.
  void step(double learning_rate);

  // Releases the gradients, so that the next backward stores its own in place of adding to zeros.
  void zero_grad();

  const std::vector<NamedTensor>& parameters() const { return parameters_; }

  // The state itself, not a copy, by `<parameter>.<figure>` with PyTorch's names for the figures: `momentum_buffer` of
  // SGD; `exp_avg`, `exp_avg_sq` and `step` ([] float32) of AdamW. A parameter that never had a gradient has none. It
  // is what a checkpoint needs beside the weights for a run to be resumed exactly.
  virtual std::vector<NamedTensor> state() const = 0;

 protected:
  explicit Optimizer(std::vector<NamedTensor> parameters);

 private:
  // The parameters with these indices (ascending) have gradients from now on: prepare the kernel's lists.
  virtual void select(const std::vector<size_t>& active) = 0;
  // gradients[i] belongs to the i-th selected parameter.
  virtual void update(const std::vector<at::Tensor>& gradients, double learning_rate) = 0;

  // Fills gradients_ and active_; true if another set of parameters has gradients than in the step before.
  bool gather_gradients();

  std::vector<NamedTensor> parameters_;
  std::vector<size_t> active_;
  std::vector<at::Tensor> gradients_;  // empty between steps, so that it keeps no memory of gradients alive
};

}  // namespace tenon::optimization
