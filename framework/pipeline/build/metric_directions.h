// The metrics that a run will compute, known before its first step, and those that callbacks and schedules monitor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// By their names in the history: 1 higher is better, -1 lower is better, 0 neither.
using Directions = std::map<std::string, int32_t>;

Directions find_directions(const Training& training);
// The same for the test data, which are evaluated after the last step.
Directions find_test_directions(const Training& training);

// Throws Error(configuration) with the nearest name if the run does not compute the metric. `key`: the key of the run
// file with its location, for the message.
void require_metric(const std::string& metric, const Directions& known, const std::string& key);

// Throws Error(configuration) for a metric of the test data: nothing that they show may select weights or end training.
void refuse_test_metric(const Training& training, const std::string& metric, const std::string& key);

// Checks the parameters that name metrics, see tenon/parameter_roles.h. Returns those that another callback may still
// log. Throws Error(configuration) for a metric that the run cannot have.
std::vector<AwaitedMetric> check_monitored_metrics(const Training& training, const Directions& known);

// Throws Error(configuration) if a metric is not among those of the run, `known`.
void require_awaited_metrics(const std::vector<AwaitedMetric>& awaited, const std::vector<std::string>& known);

}  // namespace tenon::pipeline
