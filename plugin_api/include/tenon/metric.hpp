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
#include "detail/component_extensions.hpp"
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
// receives all rows as [n, shape...].
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
  if (given.size() != value_count) {
    throw Error(TENON_INVALID_ARGUMENT, "compute returned " + std::to_string(given.size()) +
                                            " values; values() returned " + std::to_string(value_count));
  }
  for (size_t i = 0; i < given.size(); ++i) values[i] = given[i];
}

template <class T>
struct TENON_HIDDEN MetricTable {
  struct Instance {
    explicit Instance(const tenon_params* params)
        : metric(construct<T>(params)),
          ports(metric.ports()),
          index_inputs(index_inputs_of(metric)),
          states(metric.states()),
          values(metric.values()) {}
    T metric;
    const Table<Port> ports;
    const Table<IndexInput> index_inputs;
    const Table<State> states;
    const Table<MetricValue> values;
  };

  static Instance& instance(void* self) { return *static_cast<Instance*>(self); }
  static const Table<IndexInput>& index_inputs(void* self) { return instance(self).index_inputs; }

  static tenon_status create(const tenon_host*, const tenon_params* params, void** self) {
    return guard([&] { *self = new Instance(params); });
  }

  static void destroy(void* self) { delete static_cast<Instance*>(self); }

  static tenon_status ports(void* self, const tenon_port* const** ports, uint64_t* count) {
    instance(self).ports.hand_out(ports, count);
    return TENON_OK;
  }

  static tenon_status states(void* self, const tenon_state* const** states, uint64_t* count) {
    instance(self).states.hand_out(states, count);
    return TENON_OK;
  }

  static tenon_status values(void* self, const tenon_metric_value* const** values, uint64_t* count) {
    instance(self).values.hand_out(values, count);
    return TENON_OK;
  }

  static tenon_status update(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count) {
    return guard([&] {
      const Frame within(frame);
      instance(self).metric.update(within, Inputs(&within, inputs, input_count, &instance(self).ports.items()));
    });
  }

  static tenon_status compute(void* self, const tenon_frame* frame, double* values, uint64_t value_count) {
    return guard([&] {
      const Frame within(frame);
      if constexpr (std::is_arithmetic_v<decltype(instance(self).metric.compute(within))>) {
        write_values({instance(self).metric.compute(within)}, values, value_count);
      } else {
        write_values(instance(self).metric.compute(within), values, value_count);
      }
    });
  }

  static constexpr tenon_metric make() {
    tenon_metric made = {};
    made.size = sizeof made;
    made.create = &create;
    made.destroy = &destroy;
    made.ports = &ports;
    made.states = &states;
    made.values = &values;
    made.update = &update;
    made.compute = &compute;
    return made;
  }

  static const tenon_metric table;
};

template <class T>
const tenon_metric MetricTable<T>::table = MetricTable<T>::make();

}  // namespace detail

// Registers T as the metric `id`.
template <class T>
Component metric(std::string id, std::string doc) {
  return {TENON_METRIC,
          std::move(id),
          std::move(doc),
          detail::schema_of<T>(),
          &detail::MetricTable<T>::table,
          detail::Extensions<detail::IndexInputsExtension<T, detail::MetricTable<T>>,
                             detail::ParameterRolesExtension<T>, detail::UsualSourcesExtension<T>>::function()};
}

}  // namespace tenon
