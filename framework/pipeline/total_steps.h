// How many steps the run file's epochs are.
#pragma once

#include <cstdint>

#include "framework/config/run_plan.h"

namespace tenon::pipeline {

// REQUIRES: steps_per_epoch >= 1. Throws Error(configuration) with the place where there are more than 1e15, beyond
// which steps could not be counted exactly everywhere (schedules and periods reckon in double precision).
int64_t count_total_steps(const config::TrainSection& train, int64_t steps_per_epoch);

}  // namespace tenon::pipeline
