#include "framework/components/kinds/metric.h"

#include <torch/types.h>

#include <cmath>
#include <cstring>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {

using support::Error;
using support::ErrorKind;

Metric::Metric(const Component& component, const config::MetricPlan& plan, const c10::Device& device)
    : name_(plan.name), instance_(component, plan), ports_(instance_.read_ports()) {
  if (!ports_.outputs.empty())
    throw Error(ErrorKind::plugin, component.describe() + ", ports: " + ports_.outputs[0].name +
                                       " is an output; a metric has only inputs, and returns values");
  read_states(device);
  read_values();
}

void Metric::read_states(const c10::Device& device) {
  const tenon_state* const* states = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_metric& table) { return table.states(instance_.self(), &states, &count); }, "states");
  const ResultScope scope(component(), "states, reading its result");
  if (count > 0 && !states)
    throw Error(ErrorKind::plugin, component().describe() + ", states: returns a count of " + std::to_string(count) +
                                       " states, but the list is NULL; expected a list, or 0 states");
  for (uint64_t i = 0; i < count; ++i) {
    const auto refuse = [&](const std::string& what) {
      throw Error(ErrorKind::plugin, component().describe() + ", states: state " + std::to_string(i) + " " + what);
    };
    if (!states[i] || states[i]->size < TENON_SIZE_TO(tenon_state, initial)) refuse("is null or cut short");
    if (states[i]->reduction < TENON_REDUCE_SUM || states[i]->reduction > TENON_REDUCE_CONCATENATE)
      refuse("has the reduction " + std::to_string(states[i]->reduction) + ", which this host does not know");
    if (dtype_bytes(states[i]->dtype) == 0)
      refuse("has the dtype " + std::to_string(states[i]->dtype) + ", which does not exist");
    if (const auto fault = find_shape_fault(states[i]->ndim, states[i]->shape)) refuse(*fault);
    const at::IntArrayRef shape(states[i]->shape, states[i]->ndim);
    const bool concatenates = states[i]->reduction == TENON_REDUCE_CONCATENATE;
    if (concatenates && (shape.empty() || shape[0] != 0))
      refuse("is concatenated and has the shape " + to_string(exact_shape(shape.vec())) +
             "; expected 0 as the first extent, for the number of rows");
    State state{at::empty(shape, at::TensorOptions(device).dtype(to_scalar_type(states[i]->dtype))),
                states[i]->initial,
                states[i]->reduction,
                {}};
    if (concatenates) state.rows.like = state.tensor;
    states_.push_back(std::move(state));
  }
}

void Metric::read_values() {
  const tenon_metric_value* const* values = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_metric& table) { return table.values(instance_.self(), &values, &count); }, "values");
  const ResultScope scope(component(), "values, reading its result");
  if (count > 0 && !values)
    throw Error(ErrorKind::plugin, component().describe() + ", values: returns a count of " + std::to_string(count) +
                                       " values, but the list is NULL; expected a list of 1 or more");
  for (uint64_t i = 0; i < count; ++i) {
    if (!values[i] || values[i]->size < TENON_SIZE_TO(tenon_metric_value, doc) || values[i]->name.size == 0)
      throw Error(ErrorKind::plugin, component().describe() + ", values: value " + std::to_string(i) +
                                         " is null, cut short or has no name");
    MetricValue value{to_string(values[i]->name), values[i]->direction};
    for (const MetricValue& known : values_)
      if (known.name == value.name)
        throw Error(ErrorKind::plugin, component().describe() + ", values: two values are called " + value.name);
    values_.push_back(std::move(value));
  }
  if (values_.empty()) throw Error(ErrorKind::plugin, component().describe() + ", values: returns none");
}

void Metric::reset() {
  for (State& state : states_) {
    state.tensor.fill_(state.initial);
    state.rows.parts.clear();
  }
}

void Metric::update(const StepContext& context, const std::vector<at::Tensor>& inputs) {
  std::vector<tenon_tensor*> states;
  std::vector<AppendedRows*> rows;
  for (State& state : states_) {
    states.push_back(to_handle(state.tensor));
    rows.push_back(state.reduction == TENON_REDUCE_CONCATENATE ? &state.rows : nullptr);
  }
  Frame frame(context, states, rows);
  const std::vector<tenon_tensor*> handles = to_handles(inputs);
  instance_.call(
      [&](const tenon_metric& table) {
        return table.update(instance_.self(), frame.get(), handles.data(), handles.size());
      },
      "update", context.at());
}

void Metric::combine(const Combine& combine) {
  for (State& state : states_) {
    if (state.reduction != TENON_REDUCE_CONCATENATE) {
      state.tensor.copy_(combine(state.reduction, state.initial, state.tensor));
      continue;
    }
    const at::Tensor rows = state.rows.parts.empty() ? state.tensor : at::cat(state.rows.parts);
    state.rows.parts = {combine(state.reduction, state.initial, rows)};
  }
}

std::vector<at::Tensor> Metric::states_with_rows() const {
  std::vector<at::Tensor> states;
  for (const State& state : states_)
    states.push_back(state.rows.parts.empty() ? state.tensor : at::cat(state.rows.parts));
  return states;
}

std::vector<std::string> Metric::save_states() const {
  std::vector<std::string> saved;
  for (const at::Tensor& state : states_with_rows()) {
    const at::Tensor elements = state.cpu().contiguous();
    saved.emplace_back(static_cast<const char*>(elements.const_data_ptr()), elements.nbytes());
  }
  return saved;
}

std::vector<at::Tensor> Metric::parse_states(const std::vector<std::string>& states) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::checkpoint, component().describe() + ": the checkpoint has " + what +
                                           "; expected a checkpoint of a run with the same training metrics");
  };
  if (states.size() != states_.size()) refuse(std::to_string(states.size()) + " states of this metric");
  std::vector<at::Tensor> parsed;
  for (size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    std::vector<int64_t> shape = state.tensor.sizes().vec();
    size_t row = state.tensor.element_size();
    if (state.reduction == TENON_REDUCE_CONCATENATE) {
      for (size_t k = 1; k < shape.size(); ++k) row *= static_cast<size_t>(shape[k]);
      shape[0] = row == 0 ? 0 : static_cast<int64_t>(states[i].size() / row);
    }
    const at::Tensor elements = at::empty(shape, state.tensor.scalar_type());
    if (elements.nbytes() != states[i].size())
      refuse(std::to_string(states[i].size()) + " bytes of its state " + std::to_string(i));
    if (elements.nbytes() > 0) std::memcpy(elements.mutable_data_ptr(), states[i].data(), states[i].size());
    parsed.push_back(elements.to(state.tensor.device()));
  }
  return parsed;
}

void Metric::load_states(const std::vector<std::string>& states) {
  const std::vector<at::Tensor> parsed = parse_states(states);
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].reduction == TENON_REDUCE_CONCATENATE)
      states_[i].rows.parts = {parsed[i]};
    else
      states_[i].tensor.copy_(parsed[i]);
  }
}

void Metric::add_states(const std::vector<std::string>& states) {
  const std::vector<at::Tensor> parsed = parse_states(states);
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    switch (state.reduction) {
      case TENON_REDUCE_CONCATENATE: state.rows.parts.push_back(parsed[i]); break;
      case TENON_REDUCE_MAX: state.tensor.copy_(at::maximum(state.tensor, parsed[i])); break;
      case TENON_REDUCE_MIN: state.tensor.copy_(at::minimum(state.tensor, parsed[i])); break;
      default:
        state.tensor.add_(parsed[i]);
        if (state.initial != 0) state.tensor.sub_(state.initial);  // the sum contains it once
    }
  }
}

std::vector<double> Metric::compute(const StepContext& context) const {
  std::vector<at::Tensor> states = states_with_rows();
  for (at::Tensor& state : states) state = state.cpu();
  const std::vector<tenon_tensor*> handles = to_handles(states);
  Frame frame(context, handles);
  std::vector<double> values(values_.size(), std::nan(""));
  instance_.call(
      [&](const tenon_metric& table) {
        return table.compute(instance_.self(), frame.get(), values.data(), values.size());
      },
      "compute", context.at());
  return values;
}

}  // namespace tenon::components
