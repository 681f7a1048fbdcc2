// A metric with states of the host's, for the checks of metrics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/metric.h>

#include "framework/plugins/frame.h"
#include "framework/plugins/ports.h"
#include "framework/validation/random_inputs.h"
#include "framework/validation/session.h"

namespace tenon::validation {

struct MetricState {
  std::string name;
  at::Tensor tensor;
  uint32_t reduction;
  plugins::AppendedRows rows;  // of TENON_REDUCE_CONCATENATE
};
using MetricStates = std::vector<MetricState>;

class MetricUnderTest {
 public:
  // Creates the metric, and reads its ports, states and figures. Throws Failed where they make no sense.
  explicit MetricUnderTest(Session& session);

  Subject<tenon_metric>& subject() { return subject_; }
  const std::vector<plugins::Port>& ports() const { return ports_.inputs; }
  const std::vector<std::string>& figures() const { return figures_; }

  // Looks for inputs that update takes, trying several shapes. Throws Failed, with its last answer, if it takes none.
  void find_recipe();
  std::vector<at::Tensor> inputs(int64_t batch, uint64_t number) const;

  MetricStates new_states();  // as before an evaluation
  void update(MetricStates& states, const std::vector<at::Tensor>& inputs);
  std::vector<double> compute(const MetricStates& states);

  std::vector<std::string> read_figures();

 private:
  Subject<tenon_metric> subject_;
  plugins::PortList ports_;
  std::vector<std::string> figures_;
  std::optional<InputRecipe> recipe_;
};

// The states of two ranks as one, by the reduction that each declares.
MetricStates reduce(const MetricStates& left, const MetricStates& right);

}  // namespace tenon::validation
