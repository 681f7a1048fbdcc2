// Prints the plan as TOML, for `host --check` and for plan.toml in the run folder.
#pragma once

#include <string>

#include "framework/config/plan/run_plan.h"

namespace tenon::config {

// Returns a valid run file with one comment line on top. It resolves to the same plan from any folder.
std::string format_run_plan(const RunPlan& plan);

}  // namespace tenon::config
