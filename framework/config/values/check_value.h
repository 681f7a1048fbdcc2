// Checks a value of the run file against a schema, describes the expected value and suggests one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/config/toml/toml_tree.h"
#include "framework/config/toml/value.h"
#include "framework/config/values/component_schema.h"
#include "framework/config/values/text_values.h"

namespace tenon::config {

// Returns the value in the schema's type. None if the type, range or choices do not match. An integer is also accepted
// as a number. The name of a preset becomes its list, see transform_presets.h.
std::optional<Value> check_value(const Node& node, const ParamSchema& schema);

// The choices of the schema and the names of its presets.
std::vector<std::string> allowed_texts(const ParamSchema& schema);

// Examples: "a number above 0", "an integer of at least 1", `"train" or "test"`, "a list of numbers, each in [0, 1)".
std::string describe_expected(const ParamSchema& schema);

// Example: `fast; expected a number above 0`. With a suggestion, see suggest_value().
std::string describe_mismatch(const Node& node, const ParamSchema& schema);

// Returns `; write 64` for a value in another notation ("64", 64.0, True, 64 for [64]), `; did you mean "train"?` for a
// word that is near one of the choices or is one of other trainers ("float16"), or "".
std::string suggest_value(const Node& node, const ParamSchema& schema);

// Returns `; did you mean "100 steps"?` for 100, "100" or "100 step", or "".
std::string suggest_period(const Node& node, Fractions fractions);

// Returns `; did you mean "50%"?` for 0.5, "0.5", 50 or "50", or "".
std::string suggest_subset(const Node& node);

// Returns `; did you mean "cuda"?` for "gpu", or "".
std::string suggest_device(const Node& node);

}  // namespace tenon::config
