// From a component's table in the run file to its id, all of its parameters and the inputs that the user wired.
#pragma once

#include "framework/config/component_schema.h"
#include "framework/config/mistakes.h"
#include "framework/config/run_config.h"
#include "framework/config/run_plan.h"

namespace tenon::config {

// What every step of resolving needs.
struct Resolving {
  const RunConfig& config;
  const SchemaSource& schemas;
  Mistakes& mistakes;
};

ComponentPlan resolve_component(const ComponentConfig& config, ComponentKind kind, const Resolving& resolving);

}  // namespace tenon::config
