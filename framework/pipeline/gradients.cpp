#include "framework/pipeline/gradients.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace tenon::pipeline {

Gradients::Gradients(const std::vector<optimization::NamedTensor>& parameters) : parameters_(parameters) {}

void Gradients::gather() {
  gradients_.clear();
  indices_.clear();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (!gradient.defined()) continue;
    gradients_.push_back(gradient);
    indices_.push_back(i);
  }
}

// LibTorch's kernel for loss scales does both at once, for all gradients in one call, and leaves its finding on the
// device.
void Gradients::scale_and_check(const at::Tensor& factor, at::Tensor& found) {
  const at::NoGradGuard no_grad;
  if (!gradients_.empty()) at::_amp_foreach_non_finite_check_and_unscale_(gradients_, found, factor);
}

at::Tensor Gradients::norm() const {
  const at::NoGradGuard no_grad;
  if (gradients_.empty()) return at::zeros({});
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients_, 2)));
}

void Gradients::clip_value(double limit) {
  const at::NoGradGuard no_grad;
  if (gradients_.empty()) return;
  at::_foreach_clamp_min_(gradients_, -limit);
  at::_foreach_clamp_max_(gradients_, limit);
}

void Gradients::clip_norm(const at::Tensor& norm, double limit) {
  const at::NoGradGuard no_grad;
  if (gradients_.empty()) return;
  // Multiplied by 1 where they are short enough, for to know that would mean to wait.
  const at::Tensor coefficient = at::clamp((norm + 1e-6).reciprocal().mul(limit), std::nullopt, 1.0);
  at::_foreach_mul_(gradients_, coefficient);
}

Gradients::Magnitudes Gradients::magnitudes() const {
  const at::NoGradGuard no_grad;
  if (gradients_.empty()) return {at::zeros({0}, at::kDouble), {}};
  std::vector<at::Tensor> all;
  for (const at::Tensor& norm : at::_foreach_norm(gradients_, std::numeric_limits<double>::infinity()))
    all.push_back(norm.to(at::kDouble));
  return {at::stack(all), indices_};
}

std::string Gradients::name_first_bad(const Magnitudes& magnitudes) const {
  const at::Tensor values = magnitudes.values.cpu();
  for (size_t i = 0; i < magnitudes.indices.size(); ++i)
    if (!std::isfinite(values.const_data_ptr<double>()[i])) return parameters_[magnitudes.indices[i]].name;
  return "";
}

void Gradients::exchange(std::vector<at::Tensor>& kept) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor parameter = parameters_[i].tensor;
    std::swap(parameter.mutable_grad(), kept[i]);
  }
}

void Gradients::add(const std::vector<at::Tensor>& gradients) const {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    at::Tensor parameter = parameters_[i].tensor;
    at::Tensor& gradient = parameter.mutable_grad();
    if (gradient.defined())
      gradient.add_(gradients[i]);
    else
      gradient = gradients[i];
  }
}

}  // namespace tenon::pipeline
