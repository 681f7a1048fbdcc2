#include "framework/pipeline/build/metric_directions.h"

#include <vector>

#include "framework/pipeline/losses/loss_sums.h"
#include "framework/support/error.h"
#include "framework/support/nearest_name.h"

namespace tenon::pipeline {

namespace {

void add_losses(const LossSums& losses, const std::string& prefix, Directions& directions) {
  directions[prefix + "loss"] = -1;
  for (const auto& [name, value] : losses.parts()) directions[prefix + name] = -1;
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
  for (const auto& data : training.validation) {
    add_losses(losses, data->name() + "/", directions);
    if (data->feed.may_skip()) directions[data->name() + "/skipped_samples"] = -1;
    directions.merge(training.metrics.directions(data->name() + "/"));
  }
  return directions;
}

void require_metric(const std::string& metric, const Directions& known, const std::string& key) {
  if (known.contains(metric)) return;
  std::vector<std::string> names;
  for (const auto& [name, direction] : known) names.push_back(name);
  throw support::Error(support::ErrorKind::configuration,
                       key + " is \"" + metric + "\", which this run does not log; expected a metric of its history" +
                           support::suggest_name(metric, names));
}

}  // namespace tenon::pipeline
