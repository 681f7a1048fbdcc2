// Resolves the table of a component in the run file to its id, all its parameters and the inputs that the user set.
#pragma once

#include "framework/config/file/run_config.h"
#include "framework/config/plan/run_plan.h"
#include "framework/config/toml/diagnostics.h"
#include "framework/config/values/component_schema.h"

namespace tenon::config {

// The context of every resolve function.
struct Resolving {
  const RunConfig& config;
  const SchemaSource& schemas;
  Diagnostics& diagnostics;
};

ComponentPlan resolve_component(const ComponentConfig& config, ComponentKind kind, const Resolving& resolving);

}  // namespace tenon::config
