// Resolves [schedule] to a complete plan.
#pragma once

#include "framework/config/optimizer_plan.h"
#include "framework/config/resolve_component.h"
#include "framework/config/schedule_plan.h"

namespace tenon::config {

// The optimizer determines whether there is a momentum to cycle.
SchedulePlan resolve_schedule(const Resolving& resolving, const OptimizerPlan& optimizer);

}  // namespace tenon::config
