// [schedule]: from what the user wrote to a complete plan.
#pragma once

#include "framework/config/optimizer_plan.h"
#include "framework/config/resolve_component.h"
#include "framework/config/schedule_plan.h"

namespace tenon::config {

// The optimizer says whether there is a momentum that could be cycled.
SchedulePlan resolve_schedule(const Resolving& resolving, const OptimizerPlan& optimizer);

}  // namespace tenon::config
