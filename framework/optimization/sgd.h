// Stochastic gradient descent with momentum, as torch.optim.SGD(fused=True).
#pragma once

#include <vector>

#include "framework/optimization/optimizer.h"

namespace tenon::optimization {

// Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013, in PyTorch's form:
// a parameter's first gradient becomes its momentum buffer, without dampening.
class Sgd final : public Optimizer {
 public:
  Sgd(const config::SgdPlan& plan, std::vector<NamedTensor> parameters);
  std::vector<NamedTensor> state() const override;

 private:
  enum class Momentum { begins, continues };

  void select(const std::vector<size_t>& active) override;
  void update(const std::vector<at::Tensor>& gradients, double learning_rate) override;
  void begin_momentum(const std::vector<at::Tensor>& gradients, double learning_rate);
  void call_kernel(at::TensorList tensors, at::TensorList gradients, at::TensorList buffers, double learning_rate,
                   Momentum momentum);

  config::SgdPlan plan_;
  std::vector<at::Tensor> momentum_buffers_;  // of all parameters; undefined before the first gradient
  std::vector<size_t> active_;
  // The kernel's lists for the active parameters. Of buffers_ some are undefined in a step that begins momentum.
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> buffers_;
  bool begins_momentum_ = false;
};

}  // namespace tenon::optimization
