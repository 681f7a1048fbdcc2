// Metrics in C++. A class becomes a metric by defining:
//
//   static std::vector<tenon::Param> schema();      // optional: the parameters
//   explicit T(const tenon::Params& params);        // or T()
//   std::vector<tenon::Port> ports() const;         // the inputs
//   std::vector<tenon::State> states() const;       // tensors that the host keeps, clears and reduces over ranks
//   std::vector<tenon::MetricValue> values() const; // the values that it computes
//   void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const;   // frame.tensor(0) += ...
//   double compute(const tenon::Frame& frame) const;                             // from the reduced states, on the CPU
//   std::vector<tenon::IndexInput> index_inputs() const;  // optional: inputs that hold indices, see index_inputs.hpp
//   static std::vector<std::pair<std::string, std::string>> usual_sources();  // optional, see usual_sources.hpp
//
// Register the class with tenon::metric<T>("id", "one line") in TENON_PLUGIN. compute of a metric with several values
// returns a std::vector<double>.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "component.hpp"
#include "detail/instance.hpp"
#include "index_inputs.hpp"
#include "metric.h"
#include "parameter_roles.hpp"
#include "tensor.hpp"
#include "usual_sources.hpp"

namespace tenon {

// A tensor that the host keeps for the metric. {"correct", TENON_INT64} is a scalar that starts at zero and is summed
// over ranks.
struct State {
  std::string name;
  int32_t dtype;  // TENON_FLOAT32 ...
  std::vector<int64_t> shape = {};
  uint32_t reduction = TENON_REDUCE_SUM;
  double initial = 0;

  tenon_state describe() const {
    tenon_state state = {};
    state.size = sizeof state;
    state.name = detail::borrow(name);
    state.shape = shape.data();
    state.ndim = static_cast<uint32_t>(shape.size());
    state.dtype = dtype;
    state.reduction = reduction;
    state.initial = initial;
    return state;
  }
};

// A state of rows, each with this shape. frame.append adds rows to it. Use it for metrics over all samples. compute
// receives all rows as [n, shape...], by rank and then in the order in which they were appended: the rows of several
// states stay in the same order.
inline State rows(std::string name, int32_t dtype, std::vector<int64_t> shape = {}) {
  shape.insert(shape.begin(), 0);
  return {std::move(name), dtype, std::move(shape), TENON_REDUCE_CONCATENATE};
}

// A value that the metric computes.
struct MetricValue {
  std::string name;  // name in the history, after the name of the data: `validation/accuracy`
  int32_t direction;
  std::string doc;  // description with the unit

  tenon_metric_value describe() const {
    tenon_metric_value value = {};
    value.size = sizeof value;
    value.name = detail::borrow(name);
    value.direction = direction;
    value.doc = detail::borrow(doc);
    return value;
  }
};

inline MetricValue higher_is_better(std::string name, std::string doc) { return {std::move(name), 1, std::move(doc)}; }
inline MetricValue lower_is_better(std::string name, std::string doc) { return {std::move(name), -1, std::move(doc)}; }
inline MetricValue neither_is_better(std::string name, std::string doc) { return {std::move(name), 0, std::move(doc)}; }

namespace detail {

inline void write_values(const std::vector<double>& given, double* values, uint64_t value_count) {
  require_count("compute returned ", given.size(), " values; values() returned ", value_count);
  for (size_t i = 0; i < given.size(); ++i) values[i] = given[i];
}

template <class T>
struct TENON_HIDDEN MetricInstance : PortableInstance {
  using Self = MetricInstance;

  explicit MetricInstance(const tenon_params* params)
      : component(construct<T>(params)),
        ports(component.ports()),
        index_inputs(index_inputs_of(component)),
        states(component.states()),
        values(component.values()) {}

  void update(const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count) {
    const Frame within(frame);
    component.update(within, Inputs(&within, inputs, input_count, &ports.items()));
  }

  void compute(const tenon_frame* frame, double* values, uint64_t value_count) {
    const Frame within(frame);
    if constexpr (std::is_arithmetic_v<decltype(component.compute(within))>) {
      write_values({component.compute(within)}, values, value_count);
    } else {
      write_values(component.compute(within), values, value_count);
    }
  }

  T component;
  const Table<Port> ports;
  const Table<IndexInput> index_inputs;
  const Table<State> states;
  const Table<MetricValue> values;

  static constexpr tenon_metric table = [] {
    tenon_metric made = {};  // what newer versions append is null
    made.size = sizeof made;
    made.create = &create<Self>;
    made.destroy = &destroy<Self>;
    made.ports = &hand_out_member<Self, &Self::ports>;
    made.states = &hand_out_member<Self, &Self::states>;
    made.values = &hand_out_member<Self, &Self::values>;
    made.update = &call_member<Self, &Self::update>;
    made.compute = &call_member<Self, &Self::compute>;
    return made;
  }();
};

}  // namespace detail

// Registers T as the metric `id`.
template <class T>
Component metric(std::string id, std::string doc) {
  using Instance = detail::MetricInstance<T>;
  return detail::describe_component<T>(
      TENON_METRIC, std::move(id), std::move(doc), &Instance::table,
      detail::Extensions<detail::IndexInputsExtension<T, Instance>, detail::ParameterRolesExtension<T>,
                         detail::UsualSourcesExtension<T>>::function());
}

}  // namespace tenon
