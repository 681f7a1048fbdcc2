// Checks a value of the run file against a schema and describes the expected value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/config/toml/toml_tree.h"
#include "framework/config/toml/value.h"
#include "framework/config/values/component_schema.h"

namespace tenon::config {

// Returns the value in the schema's type. None if the type, range or choices do not match. An integer is also accepted
// as a number. The name of a preset becomes its list, see transform_presets.h.
std::optional<Value> check_value(const Node& node, const ParamSchema& schema);

// The choices of the schema and the names of its presets.
std::vector<std::string> allowed_texts(const ParamSchema& schema);

// Examples: "a number above 0", "an integer of at least 1", `"train" or "test"`, "a list of numbers, each in [0, 1)".
std::string describe_expected(const ParamSchema& schema);

// Example: `fast; expected a number above 0`. With a suggestion, see suggest_value.h.
std::string describe_mismatch(const Node& node, const ParamSchema& schema);

}  // namespace tenon::config
