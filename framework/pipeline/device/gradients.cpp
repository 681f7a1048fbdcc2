#include "framework/pipeline/device/gradients.h"

#include <torch/types.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "framework/operators/for_each_part.h"
#include "framework/pipeline/device/readback.h"

namespace tenon::pipeline {

namespace {

bool is_plain(const at::Tensor& gradient) {
  return gradient.is_cpu() && gradient.scalar_type() == at::kFloat && gradient.is_contiguous();
}

// The compiler divides a vector into those of the available instructions.
using Bits = uint32_t __attribute__((vector_size(64)));
constexpr size_t kLanes = sizeof(Bits) / sizeof(float);
constexpr size_t kAtOnce = 4;  // vectors that are independent of each other

// The largest magnitude, compared as an integer, has a full exponent if any element is NaN or infinite.
[[gnu::always_inline]] inline bool has_full_exponent(std::span<const float> elements) {
  constexpr uint32_t kMagnitude = 0x7fffffff, kFullExponent = 0x7f800000;
  Bits largest[kAtOnce] = {};
  size_t i = 0;
  for (; i + kAtOnce * kLanes <= elements.size(); i += kAtOnce * kLanes) {
#pragma GCC unroll 4
    for (size_t k = 0; k < kAtOnce; ++k) {
      Bits bits;
      std::memcpy(&bits, elements.data() + i + k * kLanes, sizeof bits);
      bits &= kMagnitude;
      largest[k] = bits > largest[k] ? bits : largest[k];
    }
  }
  uint32_t all = 0;
  for (; i < elements.size(); ++i) all = std::max(all, std::bit_cast<uint32_t>(elements[i]) & kMagnitude);
  for (const Bits& lanes : largest)
    for (size_t lane = 0; lane < kLanes; ++lane) all = std::max(all, lanes[lane]);
  return all >= kFullExponent;
}

#ifdef __x86_64__
[[gnu::target("avx2")]] bool has_full_exponent_avx2(std::span<const float> elements) {
  return has_full_exponent(elements);
}
[[gnu::target("avx512f")]] bool has_full_exponent_avx512(std::span<const float> elements) {
  return has_full_exponent(elements);
}
#endif
bool has_full_exponent_generic(std::span<const float> elements) { return has_full_exponent(elements); }

bool has_non_finite(std::span<const float> elements) {
  static bool (*const fastest)(std::span<const float>) = [] {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) return has_full_exponent_avx512;
    if (__builtin_cpu_supports("avx2")) return has_full_exponent_avx2;
#endif
    return has_full_exponent_generic;
  }();
  return fastest(elements);
}

std::span<const float> elements_of(const at::Tensor& gradient) {
  return {gradient.const_data_ptr<float>(), static_cast<size_t>(gradient.numel())};
}

// On LibTorch's operator threads if there are many elements. REQUIRES: is_plain() for each gradient.
bool has_non_finite(const std::vector<at::Tensor>& gradients) {
  constexpr size_t kPart = size_t{1} << 16;  // the most elements of a part
  constexpr int64_t kPartsPerThread = 8;     // at least
  size_t elements = 0;
  for (const at::Tensor& gradient : gradients) elements += static_cast<size_t>(gradient.numel());
  if (elements <= kPart * kPartsPerThread)
    return std::ranges::any_of(gradients,
                               [](const at::Tensor& gradient) { return has_non_finite(elements_of(gradient)); });
  std::vector<std::span<const float>> parts;
  for (const at::Tensor& gradient : gradients)
    for (std::span<const float> left = elements_of(gradient); !left.empty();) {
      parts.push_back(left.first(std::min(left.size(), kPart)));
      left = left.subspan(parts.back().size());
    }
  std::atomic<bool> found = false;
  operators::for_each_part(static_cast<int64_t>(parts.size()), kPartsPerThread, [&](int64_t part) {
    if (has_non_finite(parts[static_cast<size_t>(part)])) found.store(true, std::memory_order_relaxed);
  });
  return found;
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

at::Tensor Gradients::scale_and_check(const at::Tensor& factor, NonFiniteFlag& flag, bool with_norm) {
  const at::Tensor norm = scale_and_check_local(factor, flag, with_norm);
  if (divided_over_) divided_over_->reduce(distributed::Reduction::maximum, flag.tensor());
  return norm;
}

// On the CPU, LibTorch's kernel for loss scales does both in one pass. Without a factor, checking directly is much
// faster, and a finite norm needs no check, because NaN and infinity would be in it. On CUDA that kernel does not
// support bfloat16, and the largest magnitudes are needed anyway, to name a bad gradient: they are all finite if and
// only if all gradients are.
at::Tensor Gradients::scale_and_check_local(const at::Tensor& factor, NonFiniteFlag& flag, bool with_norm) {
  const at::NoGradGuard no_grad;
  const auto norm_if_requested = [&] { return with_norm ? norm() : at::Tensor(); };
  if (gradients_.empty()) return norm_if_requested();
  if (!gradients_.front().is_cpu()) {
    if (factor.defined()) scale(factor);
    magnitudes_ = compute_magnitudes();
    flag.note(magnitudes_);
    return norm_if_requested();
  }
  const bool is_one = !factor.defined() || *factor.const_data_ptr<float>() == 1;
  if (!is_one || !std::ranges::all_of(gradients_, is_plain)) {
    at::_amp_foreach_non_finite_check_and_unscale_(gradients_, flag.tensor(), factor.defined() ? factor : flag.one());
    return norm_if_requested();
  }
  const at::Tensor norm = norm_if_requested();
  const bool is_finite = norm.defined() && std::isfinite(read_scalar(norm));
  if (!is_finite && has_non_finite(gradients_)) flag.tensor().fill_(1);
  return norm;
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
    std::vector<int64_t> found;
    for (const size_t i : indices_) found.push_back(places[i]);
    const at::Tensor index = at::tensor(found, at::kLong).to(norms.device());
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
  // A device multiplies by 1 if the norm is within the limit, because testing it would synchronise with the device.
  const at::Tensor coefficient = at::clamp((norm + 1e-6).reciprocal().mul(limit), std::nullopt, 1.0);
  if (coefficient.is_cpu() && read_scalar(coefficient) == 1) return;
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
