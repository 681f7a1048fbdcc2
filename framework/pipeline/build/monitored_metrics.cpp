#include "framework/pipeline/build/monitored_metrics.h"

#include <algorithm>

#include "framework/components/kinds/parameter_roles.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

std::vector<std::string> list_names(const config::Value& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return *list;
  const auto& name = std::get<std::string>(value);
  return name.empty() ? std::vector<std::string>() : std::vector{name};
}

// Only the host logs these.
bool is_of_host(const Training& training, const std::string& name) {
  const auto begins = [&](const std::string& data) { return name.starts_with(data + "/"); };
  return begins("train") ||
         std::ranges::any_of(training.validation, [&](const auto& data) { return begins(data->name()); });
}

}  // namespace

std::vector<AwaitedMetric> check_monitored_metrics(const Training& training, const Directions& known) {
  std::vector<AwaitedMetric> awaited;
  for (size_t i = 0; i < training.callbacks.size(); ++i) {
    const config::ComponentPlan& plan = training.plan->callbacks[i];
    for (const std::string& parameter : components::list_metric_parameters(training.callbacks[i].component())) {
      const std::string key = plan.place + ": " + plan.use + ": params." + parameter;
      for (const std::string& name : list_names(plan.params.at(parameter))) {
        if (known.contains(name)) continue;
        refuse_test_metric(training, name, key);
        if (training.callbacks.size() == 1 || is_of_host(training, name)) require_metric(name, known, key);
        awaited.push_back({name, key});
      }
    }
  }
  return awaited;
}

void require_awaited_metrics(const std::vector<AwaitedMetric>& awaited, const std::vector<std::string>& known) {
  for (const AwaitedMetric& metric : awaited) {
    if (std::ranges::find(known, metric.name) != known.end()) continue;
    throw support::Error(support::ErrorKind::configuration,
                         metric.key + " is \"" + metric.name +
                             "\", which no callback has logged by the end of the first validation; expected a metric "
                             "of the run's history" +
                             formats::suggest_name(metric.name, known));
  }
}

}  // namespace tenon::pipeline
