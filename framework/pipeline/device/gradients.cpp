#include "framework/pipeline/device/gradients.h"

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

Gradients::Gradients(const std::vector<optimization::NamedTensor>& parameters, distributed::ProcessGroup* divided_over)
    : parameters_(parameters), divided_over_(divided_over) {}

at::TensorOptions Gradients::float_options() const {
  const c10::Device device = parameters_.empty() ? c10::Device(c10::kCPU) : parameters_.front().tensor.device();
  return at::TensorOptions(device).dtype(at::kFloat);
}

void Gradients::gather() {
  gradients_.clear();
  indices_.clear();
  magnitudes_.reset();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (!gradient.defined() || gradient.numel() == 0) continue;
    gradients_.push_back(gradient);
    indices_.push_back(i);
  }
}

void Gradients::scale_and_check(const at::Tensor& factor, NonFiniteFlag& flag) {
  scale_and_check_own(factor, flag);
  if (divided_over_) divided_over_->reduce(distributed::Reduction::maximum, flag.tensor());
}

// On the CPU, LibTorch's kernel for loss scales does both in one pass, and checking directly is much faster if there is
// no factor. On CUDA that kernel does not support bfloat16, and the largest magnitudes are needed anyway, to name a bad
// gradient: they are all finite if and only if all gradients are.
void Gradients::scale_and_check_own(const at::Tensor& factor, NonFiniteFlag& flag) {
  const at::NoGradGuard no_grad;
  if (gradients_.empty()) return;
  if (!gradients_.front().is_cpu()) {
    if (factor.defined()) scale(factor);
    magnitudes_ = compute_magnitudes();
    flag.note(magnitudes_);
    return;
  }
  const bool is_one = !factor.defined() || *factor.const_data_ptr<float>() == 1;
  if (!is_one || !std::ranges::all_of(gradients_, is_plain))
    at::_amp_foreach_non_finite_check_and_unscale_(gradients_, flag.tensor(), factor.defined() ? factor : flag.one());
  else if (std::ranges::any_of(gradients_, has_non_finite))
    flag.tensor().fill_(1);
}

// LibTorch rounds the factor to the dtype of the gradients. A factor such as 1/3 would change all bfloat16 gradients by
// the same rounding error, so gradients of other dtypes are multiplied as float32.
void Gradients::scale(const at::Tensor& factor) {
  std::vector<at::Tensor> floats;
  for (at::Tensor& gradient : gradients_) {
    if (gradient.scalar_type() == at::kFloat)
      floats.push_back(gradient);
    else
      at::mul_out(gradient, gradient.to(at::promote_types(gradient.scalar_type(), at::kFloat)), factor);
  }
  if (!floats.empty()) at::_foreach_mul_(floats, factor);
}

at::Tensor Gradients::norm() const {
  const at::NoGradGuard no_grad;
  if (divided_over_) return norm_over_ranks();
  if (gradients_.empty()) return at::zeros({}, float_options());
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients_, 2)));
}

// The norm of each gradient comes from the rank that has it, and the others add 0. So the result has the same bits as
// with undivided gradients.
at::Tensor Gradients::norm_over_ranks() const {
  std::vector<int64_t> places(parameters_.size(), -1);
  int64_t count = 0;
  at::ScalarType dtype = at::kFloat;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i].tensor;
    if (!parameter.requires_grad() || parameter.numel() == 0) continue;
    dtype = count == 0 ? parameter.scalar_type() : at::promote_types(dtype, parameter.scalar_type());
    places[i] = count++;
  }
  if (count == 0) return at::zeros({}, float_options());
  const at::TensorOptions sent = float_options().dtype(at::promote_types(dtype, at::kFloat));
  const at::Tensor norms = at::zeros({count}, sent);
  if (!gradients_.empty()) {
    std::vector<int64_t> own;
    for (const size_t i : indices_) own.push_back(places[i]);
    const at::Tensor index = at::tensor(own, at::kLong).to(norms.device());
    norms.index_copy_(0, index, at::stack(at::_foreach_norm(gradients_, 2)).to(norms.scalar_type()));
  }
  divided_over_->reduce(distributed::Reduction::sum, norms);
  return at::linalg_vector_norm(norms.to(dtype));
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
  if (gradients_.empty()) return {at::zeros({0}), {}};
  return {magnitudes_.defined() ? magnitudes_ : compute_magnitudes(), indices_};
}

at::Tensor Gradients::compute_magnitudes() const {
  const at::Tensor values = at::stack(at::_foreach_norm(gradients_, std::numeric_limits<double>::infinity()));
  return values.to(at::promote_types(values.scalar_type(), at::kFloat));
}

std::string Gradients::name_first_bad(const Magnitudes& magnitudes) const {
  const at::Tensor values = magnitudes.values.to(at::kCPU, at::kDouble);
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
