// A metric with the states that the host keeps for it, for the checks of metrics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/metric.h>

#include "framework/components/calls/ports.h"
#include "framework/components/tensors/frame.h"
#include "framework/validation/session/random_inputs.h"
#include "framework/validation/session/session.h"

namespace tenon::validation {

struct MetricState {
  std::string name;
  at::Tensor tensor;
  uint32_t reduction;
  components::AppendedRows rows;  // for TENON_REDUCE_CONCATENATE
};
using MetricStates = std::vector<MetricState>;

class MetricUnderTest {
 public:
  // Creates the metric, and reads its ports, states and value names. Throws Failed if they are invalid.
  explicit MetricUnderTest(Session& session);

  Subject<tenon_metric>& subject() { return subject_; }
  const std::vector<components::Port>& ports() const { return ports_.inputs; }
  const std::vector<std::string>& values() const { return values_; }

  // Searches for inputs that update accepts. Tries several shapes. Throws Failed with the last error if there are none.
  void find_recipe();
  std::vector<at::Tensor> inputs(int64_t batch, uint64_t number) const;

  MetricStates new_states();  // in their initial values
  void update(MetricStates& states, const std::vector<at::Tensor>& inputs);
  std::vector<double> compute(const MetricStates& states);

  std::vector<std::string> read_values();

 private:
  Subject<tenon_metric> subject_;
  components::PortList ports_;
  std::vector<std::string> values_;
  std::optional<InputRecipe> recipe_;
};

// Reduces the states of two ranks to one, with the reduction that each state declares.
MetricStates reduce(const MetricStates& left, const MetricStates& right);

}  // namespace tenon::validation
