// Lists the components that a run uses.
#pragma once

#include <vector>

#include "framework/config/plan/run_plan.h"
#include "framework/config/values/component_schema.h"

namespace tenon::config {

// The components in the order of the sections of the plan. A component that is used twice is listed twice.
std::vector<ComponentName> used_components(const RunPlan& plan);

}  // namespace tenon::config
