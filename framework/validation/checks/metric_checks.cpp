#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "framework/components/kinds/metric.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/text/format.h"
#include "framework/validation/checks/checks.h"
#include "framework/validation/checks/tensor_checks.h"

namespace tenon::validation {

namespace {

components::Metric make_metric(const Session& session) {
  return {session.component(), config::MetricPlan{session.plan(), session.plan().use}};
}

void check_metric_ports(Session& session) { require_same_ports<tenon_metric>(session); }

std::string describe_states(const components::Metric& metric) {
  std::string text;
  for (const components::Metric::State& state : metric.states())
    text += fmt::format("{}, reduction {}; ", components::describe(state.tensor), state.reduction);
  return text;
}

void check_states(Session& session) {
  const std::string first = describe_states(make_metric(session));
  const std::string second = describe_states(make_metric(session));
  if (first != second) throw Failed("states returns {} then {} expected the same each time", first, second);
}

std::string join_names(const components::Metric& metric) {
  std::string text;
  for (const auto& value : metric.values()) text += (text.empty() ? "" : ", ") + value.name;
  return text;
}

void check_values(Session& session) {
  const std::string first = join_names(make_metric(session));
  const std::string second = join_names(make_metric(session));
  if (first != second) throw Failed("values returns {}, then {}; expected the same each time", first, second);
}

constexpr int64_t kBatchSizes[] = {2, 3, 3, 2};
constexpr size_t kBatches = std::size(kBatchSizes);

// A metric with inputs that it accepts.
struct ReadyMetric {
  explicit ReadyMetric(const Session& of) : session(of) {}

  void update(const std::vector<at::Tensor>& given) {
    const at::NoGradGuard no_grad;
    metric.update(make_context(session, /*training=*/false), given);
  }
  // Resets the states and adds the batches from `first` to `end`.
  void evaluate(size_t first, size_t end) {
    metric.reset();
    for (size_t i = first; i < end; ++i) update(inputs.make(kBatchSizes[i], TENON_DTYPE_NONE, i));
  }
  std::vector<double> compute() const {
    const at::NoGradGuard no_grad;
    return metric.compute(make_context(session, /*training=*/false));
  }

  const Session& session;
  components::Metric metric = make_metric(session);
  const RandomInputs inputs{metric.inputs(), session.seed(), "update",
                            [this](const std::vector<at::Tensor>& given, bool& is_accepted) {
                              metric.reset();
                              update(given);
                              is_accepted = true;
                              compute();  // a metric may check its inputs here, so that update need not synchronise
                              return true;
                            }};
};

void check_evaluation(Session& session) {
  ReadyMetric ready(session);
  ready.evaluate(0, kBatches);
  const std::vector<double> values = ready.compute();
  for (size_t i = 0; i < values.size(); ++i)
    if (std::isinf(values[i]))
      throw Failed("compute returns infinity for {}; expected a number, or NaN for no value",
                   ready.metric.values()[i].name);
  // Without samples, a value is NaN or a number. It is not an error.
  ready.metric.reset();
  ready.compute();
}

bool is_close(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right);
  return std::abs(left - right) <= 1e-7 + 1e-5 * std::max(std::abs(left), std::abs(right));
}

void require_equal(const components::Metric& metric, const std::vector<double>& expected,
                   const std::vector<double>& found, const std::string& what) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (!is_close(expected[i], found[i]))
      throw Failed("{} is {:g} {}{:g}", metric.values()[i].name, found[i], what, expected[i]);
}

// Adds the states of one half to those of the other, as with the states of two ranks.
void check_adds_up(Session& session) {
  ReadyMetric ready(session);
  ready.evaluate(0, kBatches);
  const std::vector<double> whole = ready.compute();
  ready.evaluate(kBatches / 2, kBatches);
  const std::vector<std::string> half = ready.metric.save_states();
  ready.evaluate(0, kBatches / 2);
  ready.metric.add_states(half);
  require_equal(ready.metric, whole, ready.compute(),
                "from two halves of the data, reduced as the states declare; expected the value for all data, ");
}

void check_starts_anew(Session& session) {
  ReadyMetric ready(session);
  ready.evaluate(0, kBatches);
  const std::vector<double> first = ready.compute();
  ready.evaluate(0, kBatches);
  require_equal(
      ready.metric, first, ready.compute(),
      "in a second evaluation of the same data; expected the value of the first, since the states were reset: ");
}

}  // namespace

void use_metric(Session& session) {
  ReadyMetric ready(session);
  ready.evaluate(0, 2);
  ready.compute();
}

std::vector<Check> metric_checks() {
  return {{"ports", Level::contract, {"create"}, check_metric_ports},
          {"states", Level::contract, {"ports"}, check_states},
          {"values", Level::contract, {"states"}, check_values},
          {"evaluation", Level::contract, {"values"}, check_evaluation},
          {"starts-anew", Level::training, {"evaluation"}, check_starts_anew},
          {"adds-up", Level::training, {"starts-anew", "extensions"}, check_adds_up}};
}

}  // namespace tenon::validation
