// The rates of each schedule after its warm-up.
#pragma once

#include <cstdint>
#include <functional>

#include "framework/config/plan/schedule_plan.h"
#include "framework/optimization/step_rates.h"

namespace tenon::optimization {

// Lengths in optimizer steps.
struct RunLength {
  int64_t total_steps;      // at least 1
  int64_t steps_per_epoch;  // at least 1
};

// Converts a length to whole steps, rounded to the nearest and at least `least`. `rest`: the remaining steps of the
// run.
int64_t count_steps(const config::ScheduleLength& length, const RunLength& run, int64_t rest, int64_t least);

// Returns the rates of a step, counted from 0 at the end of the warm-up.
using Shape = std::function<StepRates(int64_t step)>;

// run: the length of the whole run. rest: its steps after the warm-up, at least 1. REQUIRES: the plan is not a
// PlateauSchedule, which has a state.
Shape make_shape(const config::SchedulePlan& plan, double base_lr, const RunLength& run, int64_t rest);

}  // namespace tenon::optimization
