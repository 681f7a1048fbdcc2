// Resolves [optimizer] and [[optimizer.group]] to a complete plan.
#pragma once

#include "framework/config/plan/optimizer_plan.h"
#include "framework/config/resolve/resolve_component.h"

namespace tenon::config {

OptimizerPlan resolve_optimizer(const Resolving& resolving);

}  // namespace tenon::config
