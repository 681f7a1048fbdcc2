// Whether a value of the run file is what a schema asks for, and what a schema asks for in words.
#pragma once

#include <optional>
#include <string>

#include "framework/config/component_schema.h"
#include "framework/config/toml_tree.h"
#include "framework/config/value.h"

namespace tenon::config {

// The value in the schema's type; none if its type, range or choices do not fit. An integer also serves as a number.
std::optional<Value> check_value(const Node& node, const ParamSchema& schema);

// "a number above 0", "an integer of at least 1", `"train" or "test"`, "a list of numbers, each in [0, 1)".
std::string describe_expected(const ParamSchema& schema);

// `fast; expected a number above 0`, with the nearest of the choices.
std::string describe_mismatch(const Node& node, const ParamSchema& schema);

}  // namespace tenon::config
