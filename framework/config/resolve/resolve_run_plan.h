// Resolves a run file to a complete plan. All checks across keys are here, and the defaults that depend on other keys
// or on a component; RunConfig::declared has the others.
#pragma once

#include <filesystem>
#include <vector>

#include "framework/config/file/run_config.h"
#include "framework/config/plan/run_plan.h"
#include "framework/config/values/component_schema.h"

namespace tenon::config {

// Opens no file of the run, no plugin and no device. It compares run.threads with the cores that this process can use.
// Throws Error(configuration) with a message that lists all errors, one per line: file:line:column, what was found,
// what was expected and the nearest name.
//
// Needs::data: a model, losses, a length and an optimizer may be missing, and have empty ids in the plan then.
//
// All paths of the plan are absolute. Relative ones (model.weights, plugins.paths, path parameters) start from the run
// file's folder; run.output_dir alone starts from the working directory.
enum class Needs { training, data };
RunPlan resolve_run_plan(const RunConfig& config, const SchemaSource& schemas, Needs needs = Needs::training);

// Returns the absolute paths of [plugins] paths. They are needed before a SchemaSource exists.
std::vector<std::filesystem::path> resolve_plugin_paths(const RunConfig& config);

// Returns [plugins] sha256, ordered by file name. They are needed before a SchemaSource exists.
std::vector<PluginPin> resolve_plugin_pins(const RunConfig& config);

}  // namespace tenon::config
