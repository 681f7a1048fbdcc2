#include "framework/validation/checks/metric_checks.h"

#include <cmath>
#include <sstream>

#include "framework/validation/session/metric_under_test.h"
#include "framework/validation/session/model_under_test.h"
#include "framework/validation/session/use_component.h"

namespace tenon::validation {

namespace {

void check_metric_ports(Session& session) {
  Subject<tenon_metric> subject(session);
  const std::string first = describe(read_ports(subject));
  const std::string second = describe(read_ports(subject));
  if (first != second) throw Failed("ports returns " + first + " then " + second + " expected the same each time");
}

std::string describe_states(MetricUnderTest& metric) {
  std::string text;
  for (const MetricState& state : metric.new_states())
    text += state.name + " " + components::to_string(components::exact_shape(state.tensor.sizes().vec())) + "; ";
  return text;
}

void check_states(Session& session) {
  MetricUnderTest metric(session);
  const std::string first = describe_states(metric);
  const std::string second = describe_states(metric);
  if (first != second) throw Failed("states returns " + first + " then " + second + " expected the same each time");
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void check_values(Session& session) {
  MetricUnderTest metric(session);
  const std::vector<std::string> second = metric.read_values();
  if (metric.values() != second)
    throw Failed("values returns " + join(metric.values()) + ", then " + join(second) +
                 "; expected the same each time");
}

constexpr int64_t kBatchSizes[] = {2, 3, 3, 2};
constexpr size_t kBatches = std::size(kBatchSizes);

void add_batches(MetricUnderTest& metric, MetricStates& states, size_t first, size_t end) {
  for (size_t i = first; i < end; ++i) metric.update(states, metric.inputs(kBatchSizes[i], i));
}

void check_evaluation(Session& session) {
  MetricUnderTest metric(session);
  metric.find_recipe();
  MetricStates states = metric.new_states();
  add_batches(metric, states, 0, kBatches);
  const std::vector<double> values = metric.compute(states);
  for (size_t i = 0; i < values.size(); ++i)
    if (std::isinf(values[i]))
      throw Failed("compute returns infinity for " + metric.values()[i] + "; expected a number, or NaN for no value");
  // Without samples, a value is NaN or a number. It is not an error.
  metric.compute(metric.new_states());
}

bool is_close(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right);
  return std::abs(left - right) <= 1e-7 + 1e-5 * std::max(std::abs(left), std::abs(right));
}

void require_equal(const MetricUnderTest& metric, const std::vector<double>& expected, const std::vector<double>& found,
                   const std::string& what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (is_close(expected[i], found[i])) continue;
    std::ostringstream text;
    text << metric.values()[i] << " is " << found[i] << " " << what << expected[i];
    throw Failed(text.str());
  }
}

void check_adds_up(Session& session) {
  MetricUnderTest metric(session);
  metric.find_recipe();
  MetricStates whole = metric.new_states();
  add_batches(metric, whole, 0, kBatches);
  MetricStates left = metric.new_states();
  MetricStates right = metric.new_states();
  add_batches(metric, left, 0, kBatches / 2);
  add_batches(metric, right, kBatches / 2, kBatches);
  require_equal(metric, metric.compute(whole), metric.compute(reduce(left, right)),
                "from two halves of the data, reduced as the states declare; expected the value for all data, ");
}

void check_starts_anew(Session& session) {
  MetricUnderTest metric(session);
  metric.find_recipe();
  std::vector<double> values[2];
  for (std::vector<double>& each : values) {
    MetricStates states = metric.new_states();
    add_batches(metric, states, 0, kBatches);
    each = metric.compute(states);
  }
  require_equal(
      metric, values[0], values[1],
      "in a second evaluation of the same data; expected the value of the first, since the states were reset: ");
}

Check make_metric_check(const char* name, Level level, std::vector<std::string> needs, void (*run)(Session&)) {
  return {name, level, Check::Of::kind, config::ComponentKind::metric, std::move(needs), run};
}

}  // namespace

void use_metric(Session& session) {
  MetricUnderTest metric(session);
  metric.find_recipe();
  MetricStates states = metric.new_states();
  add_batches(metric, states, 0, 2);
  metric.compute(states);
  metric.subject().destroy();
}

std::vector<Check> metric_checks() {
  return {make_metric_check("ports", Level::contract, {"create"}, check_metric_ports),
          make_metric_check("states", Level::contract, {"ports"}, check_states),
          make_metric_check("values", Level::contract, {"states"}, check_values),
          make_metric_check("evaluation", Level::contract, {"values"}, check_evaluation),
          make_metric_check("starts-anew", Level::training, {"evaluation"}, check_starts_anew),
          make_metric_check("adds-up", Level::training, {"starts-anew"}, check_adds_up)};
}

}  // namespace tenon::validation
