// Suggestions for paths in the parameters of a component.
#pragma once

#include <string>

#include "framework/components/calls/component.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::components {

// Returns what a path that does not exist may mean, as "; did you mean photos?", for the first such parameter that the
// message names. "" if there is none.
std::string suggest_paths(const Component& component, const config::ComponentPlan& plan, const std::string& message);

}  // namespace tenon::components
