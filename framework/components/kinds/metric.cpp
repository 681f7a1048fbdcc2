#include "framework/components/kinds/metric.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::components {

Metric::Metric(const Component& component, const config::MetricPlan& plan, const c10::Device& device)
    : name_(plan.name), instance_(component, plan), ports_(instance_.read_ports()) {
  if (!ports_.outputs.empty())
    throw_plugin_error(component, "ports",
                       ports_.outputs[0].name + " is an output; a metric has only inputs, and returns values");
  instance_.read_list(instance_.table(), &tenon_metric::states, "states", "states, reading its result",
                      [&](const auto* states, uint64_t count) { read_states(states, count, device); });
  instance_.read_list(instance_.table(), &tenon_metric::values, "values", "values, reading its result",
                      [&](const auto* values, uint64_t count) { read_values(values, count); });
}

void Metric::read_states(const tenon_state* const* states, uint64_t count, const c10::Device& device) {
  require_list(component(), "states", states, count, "states", "a list, or 0 states");
  for (uint64_t i = 0; i < count; ++i) {
    const auto refuse = [&](const std::string& what) {
      throw_plugin_error(component(), "states", "state {} {}", i, what);
    };
    if (!states[i] || states[i]->size < TENON_SIZE_TO(tenon_state, initial)) refuse("is null or cut short");
    if (states[i]->reduction < TENON_REDUCE_SUM || states[i]->reduction > TENON_REDUCE_CONCATENATE)
      refuse(fmt::format("has the reduction {}, which this host does not know", states[i]->reduction));
    if (dtype_bytes(states[i]->dtype) == 0)
      refuse(fmt::format("has the dtype {}, which does not exist", states[i]->dtype));
    if (const auto fault = find_shape_fault(states[i]->ndim, states[i]->shape)) refuse(*fault);
    const at::IntArrayRef shape(states[i]->shape, states[i]->ndim);
    const bool concatenates = states[i]->reduction == TENON_REDUCE_CONCATENATE;
    if (concatenates && (shape.empty() || shape[0] != 0))
      refuse("is concatenated and has the shape " + to_string(exact_shape(shape.vec())) +
             "; expected 0 as the first extent, for the number of rows");
    State state{at::empty(shape, at::TensorOptions(device).dtype(to_scalar_type(states[i]->dtype))), states[i]->initial,
                states[i]->reduction};
    if (concatenates) state.rows.like = state.tensor;
    states_.push_back(std::move(state));
  }
}

void Metric::read_values(const tenon_metric_value* const* values, uint64_t count) {
  const auto refuse = [&](const std::string& what) { throw_plugin_error(component(), "values", what); };
  require_list(component(), "values", values, count, "values", "a list of 1 or more");
  for (uint64_t i = 0; i < count; ++i) {
    if (!values[i] || values[i]->size < TENON_SIZE_TO(tenon_metric_value, doc) || values[i]->name.size == 0)
      refuse(fmt::format("value {} is null, cut short or has no name", i));
    MetricValue value{to_string(values[i]->name), values[i]->direction};
    if (std::ranges::count(values_, value.name, &MetricValue::name) > 0) refuse("two values are called " + value.name);
    values_.push_back(std::move(value));
  }
  if (values_.empty()) refuse("returns none");
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
    throw support::Error(support::ErrorKind::checkpoint,
                         "{}: the checkpoint has {}; expected a checkpoint of a run with the same training metrics",
                         component().describe(), what);
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
