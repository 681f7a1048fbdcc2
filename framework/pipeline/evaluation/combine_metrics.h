// Combines the metrics of an evaluation that is split between ranks.
#pragma once

#include "framework/distributed/process_group.h"
#include "framework/plugins/components/metric.h"

namespace tenon::pipeline {

// Replaces the metric's states with those of all ranks combined, on each rank. Called by all ranks.
void combine_states(plugins::Metric& metric, distributed::ProcessGroup& group);

}  // namespace tenon::pipeline
