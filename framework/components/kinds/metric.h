// A metric of a plugin, with the states that the host keeps for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/metric.h>

#include "framework/components/calls/ports.h"
#include "framework/components/kinds/instance.h"
#include "framework/components/tensors/frame.h"

namespace tenon::components {

class Metric {
 public:
  struct MetricValue {
    std::string name;
    int32_t direction;  // 1: higher is better, -1: lower, 0: neither
  };

  struct State {
    at::Tensor tensor;
    double initial;
    uint32_t reduction;      // how ranks are combined
    AppendedRows rows = {};  // for TENON_REDUCE_CONCATENATE
  };

  // `device`: the device of the states and of the inputs of update().
  Metric(const Component& component, const config::MetricPlan& plan, const c10::Device& device = c10::kCPU);
  const Component& component() const { return instance_.component(); }
  const std::vector<Port>& inputs() const { return ports_.inputs; }
  const std::string& name() const { return name_; }
  const std::vector<MetricValue>& values() const { return values_; }
  const std::vector<State>& states() const { return states_; }

  void reset();
  void update(const StepContext& context, const std::vector<at::Tensor>& inputs);
  // Combines the states of all ranks: each state becomes the result of `combine`. A concatenated state is passed with
  // its rows, [n, ...].
  using Combine = std::function<at::Tensor(uint32_t reduction, double initial, const at::Tensor& state)>;
  void combine(const Combine& combine);
  // The elements of each state as bytes, for a checkpoint.
  std::vector<std::string> save_states() const;
  // Throws Error(checkpoint) if the number of states or of their bytes is that of another metric.
  void load_states(const std::vector<std::string>& states);
  // Combines the saved states of another rank with those of this one. Throws as load_states() does.
  void add_states(const std::vector<std::string>& states);
  // Returns the values in the order of values(). Synchronises with the device.
  std::vector<double> compute(const StepContext& context) const;

 private:
  void read_states(const tenon_state* const* states, uint64_t count, const c10::Device& device);
  std::vector<at::Tensor> states_with_rows() const;
  std::vector<at::Tensor> parse_states(const std::vector<std::string>& states) const;
  void read_values(const tenon_metric_value* const* values, uint64_t count);

  std::string name_;
  Instance<tenon_metric> instance_;
  PortList ports_;
  std::vector<MetricValue> values_;
  std::vector<State> states_;
};

}  // namespace tenon::components
