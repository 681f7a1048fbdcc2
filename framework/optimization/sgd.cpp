#include "framework/optimization/sgd.h"

#include <utility>

#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>

namespace tenon::optimization {

Sgd::Sgd(const config::SgdPlan& plan, std::vector<NamedTensor> parameters)
    : Optimizer(std::move(parameters)), plan_(plan) {
  if (plan_.momentum != 0) momentum_buffers_.resize(this->parameters().size());
}

void Sgd::select(const std::vector<size_t>& active) {
  active_ = active;
  tensors_.clear();
  buffers_.clear();
  begins_momentum_ = false;
  for (const size_t i : active_) {
    tensors_.push_back(parameters()[i].tensor);
    if (plan_.momentum == 0) continue;
    buffers_.push_back(momentum_buffers_[i]);
    if (!momentum_buffers_[i].defined()) begins_momentum_ = true;
  }
}

void Sgd::update(const std::vector<at::Tensor>& gradients, double learning_rate) {
  if (begins_momentum_)
    begin_momentum(gradients, learning_rate);
  else
    call_kernel(tensors_, gradients, buffers_, learning_rate, Momentum::continues);
}

// The kernel takes one answer to "is this the first step?" for all its tensors, and parameters may get their first
// gradients in different steps: two calls where both kinds are there.
void Sgd::begin_momentum(const std::vector<at::Tensor>& gradients, double learning_rate) {
  std::vector<at::Tensor> tensors[2], grads[2], buffers[2];
  for (size_t k = 0; k < active_.size(); ++k) {
    const int begins = buffers_[k].defined() ? 0 : 1;
    if (begins) buffers_[k] = momentum_buffers_[active_[k]] = at::empty_like(tensors_[k]);
    tensors[begins].push_back(tensors_[k]);
    grads[begins].push_back(gradients[k]);
    buffers[begins].push_back(buffers_[k]);
  }
  begins_momentum_ = false;
  call_kernel(tensors[1], grads[1], buffers[1], learning_rate, Momentum::begins);
  if (!tensors[0].empty()) call_kernel(tensors[0], grads[0], buffers[0], learning_rate, Momentum::continues);
}

void Sgd::call_kernel(at::TensorList tensors, at::TensorList gradients, at::TensorList buffers, double learning_rate,
                      Momentum momentum) {
  at::_fused_sgd_(tensors, gradients, buffers, plan_.weight_decay, plan_.momentum, learning_rate, plan_.dampening,
                  plan_.nesterov, /*maximize=*/false, /*is_first_step=*/momentum == Momentum::begins);
}

std::vector<NamedTensor> Sgd::state() const {
  std::vector<NamedTensor> state;
  for (size_t i = 0; i < momentum_buffers_.size(); ++i)
    if (momentum_buffers_[i].defined())
      state.push_back({parameters()[i].name + ".momentum_buffer", momentum_buffers_[i]});
  return state;
}

}  // namespace tenon::optimization
