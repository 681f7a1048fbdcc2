// The metrics that a run will compute, known before its first step.
#pragma once

#include <cstdint>
#include <map>
#include <string>

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

}  // namespace tenon::pipeline
