// The plan as TOML: what `host --check` prints and what plan.toml in the run folder holds.
#pragma once

#include <string>

#include "framework/config/run_plan.h"

namespace tenon::config {

// A valid run file that resolves to the same plan from any folder, with one comment line on top.
std::string print_run_plan(const RunPlan& plan);

}  // namespace tenon::config
