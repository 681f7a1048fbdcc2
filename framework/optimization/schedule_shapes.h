// The rates of each schedule, from the end of its warm-up on.
#pragma once

#include <cstdint>
#include <functional>

#include "framework/config/schedule_plan.h"
#include "framework/optimization/step_rates.h"

namespace tenon::optimization {

// Optimizer steps.
struct RunLength {
  int64_t total_steps;      // at least 1
  int64_t steps_per_epoch;  // at least 1
};

// Whole steps, rounded to the nearest; at least `least`. `rest`: what is left of the run.
int64_t count_steps(const config::ScheduleLength& length, const RunLength& run, int64_t rest, int64_t least);

// The rates of a step, from 0 at the end of the warm-up.
using Shape = std::function<StepRates(int64_t step)>;

// run: the whole run's. rest: its steps after the warm-up, at least 1. REQUIRES: the plan is no PlateauSchedule, which
// has a state.
Shape make_shape(const config::SchedulePlan& plan, double base_lr, const RunLength& run, int64_t rest);

}  // namespace tenon::optimization
