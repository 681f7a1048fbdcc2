// Checks [train], [optimizer] and [schedule], and derives what depends on other keys.
#pragma once

#include "framework/config/plan/optimizer_plan.h"
#include "framework/config/plan/run_plan.h"
#include "framework/config/plan/schedule_plan.h"
#include "framework/config/resolve/resolve_component.h"

namespace tenon::config {

// Adds errors for missing and contradictory keys.
void resolve_train(RunPlan& plan, const Resolving& resolving);

// Completes [optimizer] with the keys that depend on `use`, and checks [[optimizer.group]].
void resolve_optimizer(OptimizerPlan& plan, const Resolving& resolving);

// The optimizer determines whether there is a momentum to cycle.
SchedulePlan resolve_schedule(const Resolving& resolving, const OptimizerPlan& optimizer);

}  // namespace tenon::config
