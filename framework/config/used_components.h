// Which components a run uses.
#pragma once

#include <vector>

#include "framework/config/component_schema.h"
#include "framework/config/run_plan.h"

namespace tenon::config {

// In the order of the plan's sections; one that is used twice is there twice.
std::vector<ComponentName> used_components(const RunPlan& plan);

}  // namespace tenon::config
