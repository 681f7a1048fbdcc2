// Completes [optimizer] with the keys that depend on `use`, and checks [[optimizer.group]].
#pragma once

#include "framework/config/plan/optimizer_plan.h"
#include "framework/config/resolve/resolve_component.h"

namespace tenon::config {

void resolve_optimizer(OptimizerPlan& plan, const Resolving& resolving);

}  // namespace tenon::config
