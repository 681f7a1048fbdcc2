#include "framework/pipeline/build/metric_directions.h"

#include <algorithm>

#include "framework/components/kinds/parameter_roles.h"
#include "framework/formats/nearest_name.h"
#include "framework/pipeline/losses/loss_sums.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

void add_losses(const LossSums& losses, const std::string& prefix, Directions& directions) {
  directions[prefix + "loss"] = -1;
  for (const auto& [name, value] : losses.parts()) directions[prefix + name] = -1;
}

void add_data(const BoundDataset& data, const LossSums& losses, const MetricSet& metrics, Directions& directions) {
  add_losses(losses, data.name() + "/", directions);
  if (data.feed.may_skip()) directions[data.name() + "/skipped_samples"] = -1;
  directions.merge(metrics.directions(data.name() + "/"));
}

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

Directions find_directions(const Training& training) {
  Directions directions{{"train/learning_rate", 0}, {"train/gradient_norm", 0}};
  if (training.scaler) directions["train/loss_scale"] = 0;
  if (training.may_skip_steps()) directions["train/skipped_steps"] = -1;
  if (training.train->feed.may_skip()) directions["train/skipped_samples"] = -1;
  if (!training.device.is_cpu()) directions["train/device_memory_mib"] = -1;
  const LossSums losses(training.losses);
  add_losses(losses, "train/", directions);
  directions.merge(training.train_metrics.directions("train/"));
  for (const auto& data : training.validation) add_data(*data, losses, training.metrics, directions);
  return directions;
}

Directions find_test_directions(const Training& training) {
  Directions directions;
  const LossSums losses(training.losses);
  for (const auto& data : training.test) add_data(*data, losses, training.test_metrics, directions);
  return directions;
}

void require_metric(const std::string& metric, const Directions& known, const std::string& key) {
  if (known.contains(metric)) return;
  std::vector<std::string> names;
  for (const auto& [name, direction] : known) names.push_back(name);
  throw support::Error(support::ErrorKind::configuration,
                       "{} is \"{}\", which this run does not log; expected a metric of its history{}", key, metric,
                       formats::suggest_name(metric, names));
}

void refuse_test_metric(const Training& training, const std::string& metric, const std::string& key) {
  const auto has_metric = [&](const auto& data) { return metric.starts_with(data->name() + "/"); };
  if (std::ranges::none_of(training.test, has_metric)) return;
  throw support::Error(support::ErrorKind::configuration,
                       "{} is \"{}\", but the test data are evaluated once, after training; expected a metric of the "
                       "training or validation data, such as \"validation/{}\"",
                       key, metric, metric.substr(metric.rfind('/') + 1));
}

std::vector<AwaitedMetric> check_monitored_metrics(const Training& training, const Directions& known) {
  std::vector<AwaitedMetric> awaited;
  for (size_t i = 0; i < training.callbacks.size(); ++i) {
    const config::ComponentPlan& plan = training.plan->callbacks[i];
    for (const std::string& parameter : components::list_metric_parameters(training.callbacks[i].component())) {
      const std::string key = fmt::format("{}: {}: params.{}", plan.place, plan.use, parameter);
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
                         "{} is \"{}\", which no callback has logged by the end of the first validation; expected a "
                         "metric of the run's history{}",
                         metric.key, metric.name, formats::suggest_name(metric.name, known));
  }
}

}  // namespace tenon::pipeline
