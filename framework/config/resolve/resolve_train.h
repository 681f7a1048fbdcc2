// Checks [train] and derives what depends on other keys.
#pragma once

#include "framework/config/plan/run_plan.h"
#include "framework/config/resolve/resolve_component.h"

namespace tenon::config {

// Adds errors for missing and contradictory keys.
void resolve_train(RunPlan& plan, const Resolving& resolving);

}  // namespace tenon::config
