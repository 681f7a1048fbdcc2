#include "framework/pipeline/gradients.h"

#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace tenon::pipeline {

namespace {

bool is_plain(const at::Tensor& gradient) {
  return gradient.is_cpu() && gradient.scalar_type() == at::kFloat && gradient.is_contiguous();
}

// Tests the exponent as an integer, which the compiler vectorises for the available instructions.
[[gnu::always_inline]] inline bool has_full_exponent(std::span<const float> elements) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;
  for (const float element : elements) found |= (std::bit_cast<uint32_t>(element) & kExponent) == kExponent;
  return found != 0;
}

#ifdef __x86_64__
[[gnu::target("avx2")]] bool has_full_exponent_avx2(std::span<const float> elements) {
  return has_full_exponent(elements);
}
#endif

bool has_non_finite(const at::Tensor& gradient) {
  const std::span elements(gradient.const_data_ptr<float>(), static_cast<size_t>(gradient.numel()));
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return has_full_exponent_avx2(elements);
#endif
  return has_full_exponent(elements);
}

}  // namespace

Gradients::Gradients(const std::vector<optimization::NamedTensor>& parameters) : parameters_(parameters) {}

at::TensorOptions Gradients::float_options() const {
  const c10::Device device = parameters_.empty() ? c10::Device(c10::kCPU) : parameters_.front().tensor.device();
  return at::TensorOptions(device).dtype(at::kFloat);
}

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

// LibTorch's kernel for loss scales does both in one call for all gradients and leaves the result on the device. If the
// gradients are on the CPU and the factor is 1, checking directly is much faster.
void Gradients::scale_and_check(const at::Tensor& factor, at::Tensor& found) {
  const at::NoGradGuard no_grad;
  if (gradients_.empty()) return;
  const bool is_one = factor.is_cpu() && *factor.const_data_ptr<float>() == 1;
  if (!is_one || !std::ranges::all_of(gradients_, is_plain))
    at::_amp_foreach_non_finite_check_and_unscale_(gradients_, found, factor);
  else if (std::ranges::any_of(gradients_, has_non_finite))
    found.fill_(1);
}

at::Tensor Gradients::norm() const {
  const at::NoGradGuard no_grad;
  if (gradients_.empty()) return at::zeros({}, float_options());
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
  // Multiplies by 1 if the norm is within the limit, because testing it would synchronise with the device.
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
