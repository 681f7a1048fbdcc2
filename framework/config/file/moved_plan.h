// The plan.toml of a run folder that was moved, alone or with its project.
#pragma once

#include <filesystem>

#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

// Replaces absolute paths in the document of a plan.toml that no longer exist. If the run folder was
// OLD/runs/digits/TIME and is NEW/runs/digits/TIME now, then a missing OLD/data becomes NEW/data, if that exists. Logs
// a warning with the number of paths. Does nothing for any other file.
void follow_moved_plan(Node& document, const std::filesystem::path& file);

}  // namespace tenon::config
