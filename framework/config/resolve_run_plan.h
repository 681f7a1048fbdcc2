// From what the user wrote to a complete plan: every default and every cross-check lives behind this call.
#pragma once

#include <filesystem>
#include <vector>

#include "framework/config/component_schema.h"
#include "framework/config/run_config.h"
#include "framework/config/run_plan.h"

namespace tenon::config {

// Pure: reads no file and asks no device. Throws Error(configuration) whose message lists every mistake found, each on
// its own line with file:line:column, what was found, what was expected and the nearest name.
// Every path of the plan is absolute. Relative ones (model.weights, plugins.paths, path parameters) start from the run
// file's folder; run.output_dir alone starts from the working directory.
RunPlan resolve_run_plan(const RunConfig& config, const SchemaSource& schemas);

// [plugins] paths, absolute: needed before there can be a SchemaSource.
std::vector<std::filesystem::path> resolve_plugin_paths(const RunConfig& config);

// [plugins] sha256, by file name; needed as early.
std::vector<PluginPin> resolve_plugin_pins(const RunConfig& config);

}  // namespace tenon::config
