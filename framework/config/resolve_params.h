// From the parameters that the run file gives to all parameters that a schema has.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/config/component_schema.h"
#include "framework/config/mistakes.h"
#include "framework/config/run_config.h"

namespace tenon::config {

// Absolute; a relative path starts from the folder, an empty one stays empty.
std::filesystem::path resolve_path(const std::string& path, const std::filesystem::path& folder);

struct ParamsQuestion {
  const std::string& id;                   // of the component, as messages name it
  const std::vector<ParamSchema>& schema;  // what it takes
  const Node::Table& given;                // what the run file says
  std::string path;                        // where it says it: "model.params", "optimizer"
  Place place;                             // of the table that lacks what is missing
  std::filesystem::path folder;            // of the run file
};

// Every parameter of the schema. Those that are unknown, missing or wrong go to the mistakes; the values are then
// incomplete.
Values resolve_params(const ParamsQuestion& question, Mistakes& mistakes);

}  // namespace tenon::config
