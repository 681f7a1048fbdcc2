// Converts the run file's epochs to steps.
#pragma once

#include <cstdint>

#include "framework/config/plan/run_plan.h"

namespace tenon::pipeline {

// REQUIRES: steps_per_epoch >= 1. Throws Error(configuration) with the location if there are more than 1e15 steps.
// Schedules and periods compute in double precision, which cannot count more steps exactly.
int64_t count_total_steps(const config::TrainSection& train, int64_t steps_per_epoch);

}  // namespace tenon::pipeline
