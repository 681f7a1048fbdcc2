// The figures of an evaluation that several ranks share.
#pragma once

#include "framework/distributed/process_group.h"
#include "framework/plugins/metric.h"

namespace tenon::pipeline {

// The metric's states become those of all ranks together, on each of them. Called by all.
void combine_states(plugins::Metric& metric, distributed::ProcessGroup& group);

}  // namespace tenon::pipeline
