// Resolves a table with `use` to all parameters of the component or built-in that it names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/file/run_config.h"
#include "framework/config/plan/run_plan.h"
#include "framework/config/toml/diagnostics.h"
#include "framework/config/values/component_schema.h"
#include "framework/support/text/format.h"

namespace tenon::config {

// The context of every resolve function.
struct Resolving {
  const RunConfig& config;
  const SchemaSource& schemas;
  Diagnostics& diagnostics;

  // Adds the error "KEY WHAT" at the location of a key that run_file_keys.h declares. `what` is
  // fmt::format(format, values...).
  template <class... Values>
  void add(const std::string& key, fmt::format_string<Values...> format, Values&&... values) const {
    diagnostics.add(config.place_of(key), key + " " + fmt::format(format, std::forward<Values>(values)...));
  }
};

// Returns the id of the component, all its parameters and the inputs that the user set.
ComponentPlan resolve_component(const ComponentConfig& config, ComponentKind kind, const Resolving& resolving);

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
Values resolve_params(const ParamsRequest& request, Diagnostics& diagnostics);

// Schemas of the built-in optimizers, schedules and batch transforms: the keys next to `use` in [optimizer],
// [schedule] and [[data.batch_transform]].
struct BuiltInSchema {
  std::string id;  // the value of `use`
  std::vector<ParamSchema> params;
};

const std::vector<BuiltInSchema>& optimizer_schemas();
const std::vector<BuiltInSchema>& schedule_schemas();
const std::vector<BuiltInSchema>& batch_transform_schemas();

// Returns all values of the schema with this `id`, the value of `use`. If the id is unknown, or a value is missing or
// wrong, adds an error and returns none. `what` is for messages, such as "optimizer".
std::optional<Values> resolve_choice(const ComponentConfig& config, const std::string& what,
                                     const std::vector<BuiltInSchema>& schemas, const std::string& id,
                                     const Resolving& resolving);

// The components in the order of the sections of the plan. A component that is used twice is listed twice.
std::vector<ComponentName> used_components(const RunPlan& plan);

// The transforms of plugins that lists of transforms name: the parameter "transforms" of a dataset, and others that end
// in "_transforms".
std::vector<ComponentName> used_transforms(const RunPlan& plan, const SchemaSource& schemas);

}  // namespace tenon::config
