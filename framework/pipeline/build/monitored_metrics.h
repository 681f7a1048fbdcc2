// The metrics that callbacks read by name.
#pragma once

#include <string>
#include <vector>

#include "framework/pipeline/build/metric_directions.h"

namespace tenon::pipeline {

// Checks the parameters that name metrics, see tenon/parameter_roles.h. Returns those that another callback may still
// log. Throws Error(configuration) for a metric that the run cannot have.
std::vector<AwaitedMetric> check_monitored_metrics(const Training& training, const Directions& known);

// Throws Error(configuration) if a metric is not among those of the run, `known`.
void require_awaited_metrics(const std::vector<AwaitedMetric>& awaited, const std::vector<std::string>& known);

}  // namespace tenon::pipeline
