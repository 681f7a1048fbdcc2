// Resolves the parameters in the run file to all parameters of a schema.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/config/file/run_config.h"
#include "framework/config/toml/diagnostics.h"
#include "framework/config/values/component_schema.h"

namespace tenon::config {

// Returns an absolute path. A relative path starts from the folder. An empty path stays empty.
std::filesystem::path resolve_path(const std::string& path, const std::filesystem::path& folder);

struct ParamsRequest {
  const std::string& id;                   // id of the component, for messages
  const std::vector<ParamSchema>& schema;  // parameters of the component
  const Node::Table& given;                // parameters in the run file
  std::string path;                        // key path: "model.params", "optimizer"
  SourceLocation place;                    // location of the table, for missing parameters
  const RunConfig& config;                 // for relative paths
};

// Returns a value for every parameter of the schema. Unknown, missing and wrong parameters add errors; the values are
// then incomplete.
Values resolve_params(const ParamsRequest& question, Diagnostics& diagnostics);

}  // namespace tenon::config
