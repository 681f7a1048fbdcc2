#include "framework/pipeline/state/frozen_parameters.h"

#include <torch/types.h>

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <variant>

#include "framework/components/calls/component.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/digests/xxh128.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

using artifacts::ExcludedTensor;
using components::NamedTensor;

ExcludedTensor describe_tensor(const std::string& name, const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const at::Tensor copy = tensor.detach().cpu().contiguous();
  const artifacts::TensorView view = make_view(name, copy);
  support::Xxh128 digest;
  digest.add({view.data, view.bytes});
  return {name, view.dtype, view.shape, digest.hexadecimal()};
}

std::string describe_type(int32_t dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{} {}", components::dtype_name(dtype), to_string(components::exact_shape(shape)));
}

}  // namespace

std::vector<NamedTensor> list_frozen_parameters(const components::Model& model,
                                                const optimization::Optimizer& optimizer) {
  std::unordered_set<const c10::TensorImpl*> trained, frozen;
  for (size_t i = 0; i < optimizer.parameters().size(); ++i) {
    const bool is_frozen = optimizer.parameter_rates()[i].is_always_frozen();
    (is_frozen ? frozen : trained).insert(optimizer.parameters()[i].tensor.unsafeGetTensorImpl());
  }
  for (const NamedTensor& named : model.tensors())
    if (named.is_frozen_parameter) frozen.insert(named.tensor.unsafeGetTensorImpl());
  std::vector<NamedTensor> parameters;
  for (const NamedTensor& named : model.tensors()) {
    const c10::TensorImpl* const tensor = named.tensor.unsafeGetTensorImpl();
    if (frozen.contains(tensor) && !trained.contains(tensor)) parameters.push_back(named);
  }
  return parameters;
}

FrozenParameters::FrozenParameters(const components::Model& model, const optimization::Optimizer& optimizer) {
  for (const NamedTensor& named : list_frozen_parameters(model, optimizer)) {
    initial_.emplace(named.name, describe_tensor(named.name, named.tensor));
    bytes_ += named.tensor.nbytes();
  }
}

std::vector<NamedTensor> FrozenParameters::exclude(std::span<const NamedTensor> tensors,
                                                   std::vector<ExcludedTensor>& excluded) {
  std::vector<NamedTensor> kept;
  std::string changed;
  for (const NamedTensor& named : tensors) {
    const auto initial = initial_.find(named.name);
    const bool is_initial = initial != initial_.end() && describe_tensor(named.name, named.tensor) == initial->second;
    if (is_initial) {
      excluded.push_back(initial->second);
      continue;
    }
    if (initial != initial_.end() && changed.empty()) changed = named.name;
    kept.push_back(named);
  }
  if (!changed.empty() && !std::exchange(has_warned_, true))
    support::log_warning("checkpoint.exclude_frozen_parameters: the frozen parameter " + changed +
                         " differs from its initial value, so checkpoints contain it, as all that differ");
  return kept;
}

std::optional<std::string> find_difference(const at::Tensor& tensor, const ExcludedTensor& excluded) {
  if (!has_storage(tensor)) return std::nullopt;  // another rank compares it
  const at::NoGradGuard no_grad;
  const at::ScalarType dtype = components::to_scalar_type(excluded.dtype);
  const bool converts = at::isFloatingType(dtype) && tensor.is_floating_point();
  const ExcludedTensor found = describe_tensor(excluded.name, converts ? tensor.detach().to(dtype) : tensor);
  if (found.dtype != excluded.dtype || found.shape != excluded.shape)
    return fmt::format("is {}; expected {}", describe_type(found.dtype, found.shape),
                       describe_type(excluded.dtype, excluded.shape));
  if (found.xxh128 != excluded.xxh128) return "has the XXH128 " + found.xxh128 + "; expected " + excluded.xxh128;
  return std::nullopt;
}

std::string describe_initial_weights(const config::ModelSection& plan, const components::Component& component) {
  if (!plan.weights.empty()) return fmt::format("model.weights ({})", plan.weights.string());
  for (const config::ParamSchema& param : component.schema.params) {
    const auto value = plan.params.find(param.name);
    if (param.type == config::ParamType::path && value != plan.params.end())
      if (const auto* path = std::get_if<std::string>(&value->second); path && !path->empty())
        return fmt::format("model.params.{} ({})", param.name, *path);
  }
  return "run.seed (model.weights is not set)";
}

std::string describe_difference(const artifacts::ExcludedTensors& excluded, const std::string& name,
                                const std::string& initial_weights, const std::string& difference) {
  return excluded.manifest.string() + ": the checkpoint leaves out the frozen parameter " + name +
         ", and the initial one, from " + initial_weights + ", " + difference +
         ": use the initial weights that the run started with: [model] and run.seed of " +
         (excluded.manifest.parent_path() / "plan.toml").string() + ", and the same files";
}

void require_excluded(const components::Model& model, const config::ModelSection& plan,
                      const artifacts::ExcludedTensors& excluded) {
  for (const ExcludedTensor& one : excluded.tensors) {
    const auto found = std::ranges::find(model.tensors(), one.name, &NamedTensor::name);
    const std::optional<std::string> difference =
        found == model.tensors().end() ? "is not a tensor of the model" : find_difference(found->tensor, one);
    if (difference)
      throw support::Error(
          support::ErrorKind::checkpoint,
          describe_difference(excluded, one.name, describe_initial_weights(plan, model.component()), *difference));
  }
}

}  // namespace tenon::pipeline
