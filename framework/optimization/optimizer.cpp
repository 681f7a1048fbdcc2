#include "framework/optimization/optimizer.h"

#include <sstream>
#include <utility>
#include <variant>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "framework/optimization/adamw.h"
#include "framework/optimization/sgd.h"
#include "framework/support/error.h"

namespace tenon::optimization {
namespace {

using support::Error;
using support::ErrorKind;

void check_parameter(const NamedTensor& parameter) {
  const at::Tensor& tensor = parameter.tensor;
  if (!tensor.is_floating_point())
    throw Error(ErrorKind::plugin, "parameter " + parameter.name + ": its dtype is " +
                                       c10::toString(tensor.scalar_type()) +
                                       "; expected a floating-point one; register it as a buffer");
  if (!tensor.is_non_overlapping_and_dense()) {
    std::ostringstream found;
    found << "parameter " << parameter.name << ": a view of shape " << tensor.sizes() << " with strides "
          << tensor.strides() << "; expected a tensor whose elements fill its memory; register its contiguous() copy";
    throw Error(ErrorKind::plugin, found.str());
  }
}

// A stride matters only where there is a second element to reach.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}

// The gradient with its elements in the order of the parameter's memory. Autograd's own are; one set by hand may not
// be.
at::Tensor laid_out_as(const NamedTensor& parameter, const at::Tensor& gradient) {
  if (gradient.layout() != c10::kStrided)
    throw Error(ErrorKind::plugin,
                "parameter " + parameter.name +
                    ": its gradient is sparse; sgd and adamw take dense gradients; build the layer with "
                    "sparse = false");
  if (same_layout(parameter.tensor, gradient)) return gradient;
  return at::empty_like(parameter.tensor).copy_(gradient);
}

}  // namespace

std::unique_ptr<Optimizer> Optimizer::make(const config::OptimizerPlan& plan, std::vector<NamedTensor> parameters) {
  if (const auto* sgd = std::get_if<config::SgdPlan>(&plan)) return std::make_unique<Sgd>(*sgd, std::move(parameters));
  return std::make_unique<AdamW>(std::get<config::AdamWPlan>(plan), std::move(parameters));
}

Optimizer::Optimizer(std::vector<NamedTensor> parameters) : parameters_(std::move(parameters)) {
  for (const NamedTensor& parameter : parameters_) check_parameter(parameter);
  active_.reserve(parameters_.size());
  gradients_.reserve(parameters_.size());
}

bool Optimizer::gather_gradients() {
  gradients_.clear();
  bool changed = false;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (!gradient.defined()) continue;
    const size_t position = gradients_.size();
    gradients_.push_back(laid_out_as(parameters_[i], gradient));
    if (position < active_.size() && active_[position] == i) continue;
    active_.resize(position);
    active_.push_back(i);
    changed = true;
  }
  if (active_.size() > gradients_.size()) {
    active_.resize(gradients_.size());
    changed = true;
  }
  return changed;
}

void Optimizer::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  if (gather_gradients()) select(active_);
  if (!gradients_.empty()) update(gradients_, learning_rate);
  gradients_.clear();
}

void Optimizer::zero_grad() {
  for (NamedTensor& parameter : parameters_) parameter.tensor.mutable_grad().reset();
}

}  // namespace tenon::optimization
