// A component of a bundled plugin, opened as the host opens it, and the plan that creates it.
#pragma once

#include <string>

#include "framework/config/run_plan.h"
#include "framework/plugins/component.h"

namespace tenon::sequences {

// The component `id` of the plugin file of its name, which stays open.
const plugins::Component& open_component(config::ComponentKind kind, const std::string& id);

// What `params` does not say is the schema's default.
config::ComponentPlan make_plan(const plugins::Component& component, const config::Values& params);

}  // namespace tenon::sequences
