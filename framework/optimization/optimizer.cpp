#include "framework/optimization/optimizer.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::optimization {
namespace {

using support::Error;
using support::ErrorKind;

bool are_alike(const NamedTensor& a, const NamedTensor& b) {
  return a.tensor.scalar_type() == b.tensor.scalar_type() && a.tensor.device() == b.tensor.device();
}

// Strides are irrelevant in dimensions with a single element.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}

void check_parameter(const NamedTensor& parameter) {
  const at::Tensor& tensor = parameter.tensor;
  if (!tensor.is_floating_point())
    throw Error(ErrorKind::plugin,
                "parameter {}: its dtype is {}; expected a floating-point one; register it as a buffer", parameter.name,
                c10::toString(tensor.scalar_type()));
  if (!tensor.is_non_overlapping_and_dense()) {
    std::ostringstream found;
    found << "parameter " << parameter.name << ": a view of shape " << tensor.sizes() << " with strides "
          << tensor.strides()
          << "; expected a tensor without gaps or overlaps in memory; register its contiguous() copy";
    throw Error(ErrorKind::plugin, found.str());
  }
}

// Returns the gradient in the memory layout of the parameter.
at::Tensor laid_out_as(const NamedTensor& parameter, const at::Tensor& gradient) {
  if (gradient.layout() != c10::kStrided)
    throw Error(ErrorKind::plugin,
                "parameter {}: its gradient is sparse; the optimizers take dense "
                "gradients; build the layer with sparse = false",
                parameter.name);
  if (same_layout(parameter.tensor, gradient)) return gradient;
  return at::empty_like(parameter.tensor).copy_(gradient);
}

constexpr const char* kUseSame = "use a checkpoint of the same model and optimizer";

void check_entry(const NamedTensor& entry, const at::Tensor& expected) {
  if (entry.tensor.sizes() == expected.sizes() && entry.tensor.scalar_type() == expected.scalar_type()) return;
  std::ostringstream message;
  message << "optimizer state " << entry.name << ": " << c10::toString(entry.tensor.scalar_type()) << ' '
          << entry.tensor.sizes() << "; expected " << c10::toString(expected.scalar_type()) << ' ' << expected.sizes()
          << "; " << kUseSame;
  throw Error(ErrorKind::checkpoint, message.str());
}

}  // namespace

std::unique_ptr<Optimizer> Optimizer::make(const config::OptimizerPlan& plan, std::vector<NamedTensor> parameters) {
  return std::unique_ptr<Optimizer>(new Optimizer(plan, std::move(parameters)));
}

Optimizer::Optimizer(const config::OptimizerPlan& plan, std::vector<NamedTensor> parameters)
    : parameters_(std::move(parameters)), is_owned_(parameters_.size(), true), state_(parameters_.size()) {
  std::vector<ParameterShape> shapes;
  for (const NamedTensor& parameter : parameters_) {
    check_parameter(parameter);
    shapes.push_back({parameter.name, parameter.tensor.dim()});
  }
  rates_ = assign_rates(plan, shapes);
  support::log_debug("the optimizer's parameters:\n" + describe_rates(shapes, rates_));
  rules_.push_back(std::visit([](const auto& rule) { return make_rule(rule); }, plan.rule));
  if (const auto* muon = std::get_if<config::MuonPlan>(&plan.rule)) rules_.push_back(make_rule(muon->adamw));
  make_batches();
  start_epoch(1);
}

UpdateRule* Optimizer::rule_of(size_t parameter) const {
  return rules_[rates_[parameter].is_left_to_adamw ? 1 : 0].get();
}

void Optimizer::update_only(std::vector<bool> is_owned) {
  TENON_CHECK(is_owned.size() == parameters_.size(), is_owned.size() << " of " << parameters_.size() << " parameters");
  is_owned_ = std::move(is_owned);
  make_batches();
}

void Optimizer::make_batches() {
  batches_.clear();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!is_owned_[i]) continue;
    const ParameterRates& rates = rates_[i];
    const auto fits = [&](const Batch& batch) {
      return batch.rule == rule_of(i) && batch.lr_scale == rates.lr_scale && batch.weight_decay == rates.weight_decay &&
             are_alike(parameters_[batch.members.front()], parameters_[i]);
    };
    auto batch = std::find_if(batches_.begin(), batches_.end(), fits);
    if (batch == batches_.end())
      batch = batches_.insert(batch, {rule_of(i), rates.lr_scale, rates.weight_decay, {}, {}, {}, false});
    batch->members.push_back(i);
  }
}

void Optimizer::start_epoch(int64_t epoch) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const bool trains = !rates_[i].is_frozen(epoch);
    at::Tensor& tensor = parameters_[i].tensor;
    if (tensor.requires_grad() == trains || rates_[i].frozen_epochs == 0) continue;
    tensor.set_requires_grad(trains);
    tensor.mutable_grad().reset();
  }
}

bool Optimizer::gather_gradients(Batch& batch) {
  std::vector<at::Tensor>& gradients = batch.lists.gradients;
  gradients.clear();
  bool changed = false;
  for (const size_t i : batch.members) {
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (!gradient.defined()) continue;
    const size_t position = gradients.size();
    gradients.push_back(laid_out_as(parameters_[i], gradient));
    if (position < batch.active.size() && batch.active[position] == i) continue;
    batch.active.resize(position);
    batch.active.push_back(i);
    changed = true;
  }
  if (batch.active.size() > gradients.size()) {
    batch.active.resize(gradients.size());
    changed = true;
  }
  return changed;
}

void Optimizer::make_lists(Batch& batch) {
  const size_t state_names = batch.rule->state_names().size();
  batch.lists.tensors.clear();
  batch.lists.groups.clear();
  batch.lists.state.assign(state_names, {});
  batch.begins = false;
  for (const size_t i : batch.active) {
    const at::Tensor& tensor = parameters_[i].tensor;
    std::vector<at::Tensor>& state = state_[i];
    for (size_t k = state.size(); k < state_names; ++k) state.push_back(batch.rule->make_state(k, tensor));
    batch.lists.tensors.push_back(tensor);
    for (size_t k = 0; k < state_names; ++k) {
      batch.lists.state[k].push_back(state[k]);
      if (!state[k].defined()) batch.begins = true;
    }
  }
}

void Optimizer::update(Batch& batch, const StepRates& rates, const at::Tensor& skip) {
  batch.rule->update(batch.lists, {rates.learning_rate * batch.lr_scale, batch.weight_decay, rates.momentum}, skip);
  batch.lists.gradients.clear();
  if (!batch.begins) return;
  // The rule has created the undefined state.
  batch.begins = false;
  for (size_t j = 0; j < batch.active.size(); ++j) {
    for (size_t k = 0; k < batch.lists.state.size(); ++k) {
      state_[batch.active[j]][k] = batch.lists.state[k][j];
      if (!batch.lists.state[k][j].defined()) batch.begins = true;
    }
  }
}

void Optimizer::step(const StepRates& rates, const at::Tensor& skip) {
  const at::NoGradGuard no_grad;
  for (Batch& batch : batches_) {
    if (gather_gradients(batch)) make_lists(batch);
    if (!batch.lists.gradients.empty()) update(batch, rates, skip);
  }
}

at::Tensor Optimizer::evaluation_weights(size_t parameter) const {
  const at::NoGradGuard no_grad;
  const at::Tensor tensor = parameters_[parameter].tensor.detach();
  return state_[parameter].empty() ? tensor : rule_of(parameter)->evaluation_weights(tensor, state_[parameter]);
}

void Optimizer::zero_grad() {
  for (NamedTensor& parameter : parameters_) parameter.tensor.mutable_grad().reset();
}

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> state;
  for (size_t i = 0; i < state_.size(); ++i)
    for (size_t k = 0; k < state_[i].size(); ++k)
      if (state_[i][k].defined())
        state.push_back({parameters_[i].name + "." + rule_of(i)->state_names()[k], state_[i][k]});
  return state;
}

void Optimizer::load_state(const std::vector<NamedTensor>& state) {
  const at::NoGradGuard no_grad;
  std::map<std::string, const NamedTensor*> entries;
  for (const NamedTensor& entry : state) entries[entry.name] = &entry;
  std::vector<std::vector<at::Tensor>> loaded(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].tensor;
    const std::vector<const char*>& state_names = rule_of(i)->state_names();
    std::string missing;
    for (size_t k = 0; k < state_names.size(); ++k) {
      const std::string name = parameters_[i].name + "." + state_names[k];
      const auto found = entries.find(name);
      if (found == entries.end()) {
        missing = name;
        continue;
      }
      if (!is_owned_[i]) {
        entries.erase(found);
        continue;
      }
      const at::Tensor expected = rule_of(i)->make_zeros(k, tensor);
      check_entry(*found->second, expected);
      loaded[i].push_back(expected.copy_(found->second->tensor));
      entries.erase(found);
    }
    if (!loaded[i].empty() && !missing.empty())
      throw Error(ErrorKind::checkpoint,
                  "optimizer state {}: missing, though there is other state of its parameter; expected all of it; {}",
                  missing, kUseSame);
  }
  if (!entries.empty())
    throw Error(ErrorKind::checkpoint,
                "optimizer state {}: does not belong to a parameter for which this optimizer keeps such state; {}",
                entries.begin()->first, kUseSame);
  state_ = std::move(loaded);
  for (Batch& batch : batches_) batch.active.clear();
}

}  // namespace tenon::optimization
