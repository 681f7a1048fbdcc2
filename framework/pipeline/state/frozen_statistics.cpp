#include "framework/pipeline/state/frozen_statistics.h"

#include <torch/types.h>

#include <algorithm>

#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

using support::Error;
using support::ErrorKind;

const at::Tensor* find_mean(const components::Model& model, const std::string& layer) {
  const std::string name = layer.empty() ? "running_mean" : layer + ".running_mean";
  for (const components::NamedTensor& named : model.tensors())
    if (named.name == name && !named.trainable) return &named.tensor;
  return nullptr;
}

}  // namespace

std::unique_ptr<FrozenStatistics> FrozenStatistics::make(const config::OptimizerPlan& plan,
                                                         const components::Model& model,
                                                         const optimization::Optimizer& optimizer) {
  const auto group = std::ranges::find_if(plan.groups, &config::ParameterGroupPlan::eval_batch_norm);
  if (group == plan.groups.end()) return nullptr;
  std::vector<Layer> layers;
  for (size_t i = 0; i < optimizer.parameters().size(); ++i) {
    const optimization::ParameterRates& rates = optimizer.parameter_rates()[i];
    if (!rates.freezes_batch_norm) continue;
    const std::string name = components::module_of(optimizer.parameters()[i].name);
    if (std::ranges::find(layers, name, &Layer::name) != layers.end()) continue;
    if (const at::Tensor* mean = find_mean(model, name)) layers.push_back({name, *mean, rates.frozen_epochs});
  }
  if (layers.empty())
    throw Error(ErrorKind::configuration,
                "{}: {}.eval_batch_norm is true, but the group has no weights of a batch norm with running statistics; "
                "expected patterns that match some, or remove eval_batch_norm",
                group->place, group->path);
  return std::unique_ptr<FrozenStatistics>(new FrozenStatistics(std::move(layers), group->place));
}

FrozenStatistics::FrozenStatistics(std::vector<Layer> layers, std::string place)
    : layers_(std::move(layers)), place_(std::move(place)) {
  start_epoch(1);
}

void FrozenStatistics::start_epoch(int64_t epoch) {
  std::vector<at::Tensor> means;
  initial_.clear();
  for (const Layer& layer : layers_) {
    const bool is_frozen = epoch <= layer.epochs;
    if (is_frozen) means.push_back(layer.mean);
    if (!is_checked_) initial_.push_back(is_frozen ? layer.mean.detach().clone() : at::Tensor());
  }
  frozen_.set(means);
}

void FrozenStatistics::check_once() {
  if (is_checked_) return;
  is_checked_ = true;
  for (size_t i = 0; i < layers_.size(); ++i)
    if (initial_[i].defined() && !torch::equal(initial_[i], layers_[i].mean))
      throw Error(ErrorKind::configuration,
                  "{}: eval_batch_norm is true, but the first step changed {}.running_mean; expected a model that "
                  "computes batch norms with LibTorch's operator batch_norm, or remove eval_batch_norm",
                  place_, layers_[i].name);
  initial_.clear();
}

}  // namespace tenon::pipeline
