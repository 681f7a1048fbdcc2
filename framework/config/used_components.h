// Lists the components that a run uses.
#pragma once

#include <vector>

#include "framework/config/component_schema.h"
#include "framework/config/run_plan.h"

namespace tenon::config {

// The components in the order of the sections of the plan. A component that is used twice is listed twice.
std::vector<ComponentName> used_components(const RunPlan& plan);

}  // namespace tenon::config
