// Resolves [schedule] to a complete plan.
#pragma once

#include "framework/config/plan/optimizer_plan.h"
#include "framework/config/plan/schedule_plan.h"
#include "framework/config/resolve/resolve_component.h"

namespace tenon::config {

// The optimizer determines whether there is a momentum to cycle.
SchedulePlan resolve_schedule(const Resolving& resolving, const OptimizerPlan& optimizer);

}  // namespace tenon::config
