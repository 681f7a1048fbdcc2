// The figure that a schedule such as reduce_on_plateau goes by.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "framework/config/schedule_plan.h"
#include "framework/optimization/schedule.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// known: every figure that the run will make. Throws Error(configuration) with the nearest name if the schedule watches
// another.
void check_watched_figure(const optimization::Schedule& schedule, const config::SchedulePlan& plan,
                          const std::map<std::string, int32_t>& known);

// Tells the schedule, if what it watches is among the figures: those of a validation, or of an epoch that has ended.
void observe_watched_figure(optimization::Schedule& schedule, const NamedFigures& figures);

}  // namespace tenon::pipeline
