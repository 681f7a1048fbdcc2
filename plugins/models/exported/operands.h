// Converts the arguments of a node to those of an operator.
#pragma once

#include <ATen/core/jit_type.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "plugins/models/exported/json.h"
#include "plugins/models/exported/program.h"

namespace exported {

// The values that are computed so far, by the names of the graph.
using Names = std::map<std::string, Slot>;

// Throws std::invalid_argument if no earlier node computes the value.
Slot find_slot(const Names& names, const std::string& name);

// Converts an argument to the type in the schema of the operator. `length` is that of a list such as int[2], for which
// Python accepts a number. Throws std::invalid_argument that shows what was found and what was expected.
Operand make_operand(const Json& argument, const c10::TypePtr& type, std::optional<int32_t> length, const Names& names);

// Converts an argument of a symbolic function.
Operand make_number(const Json& argument, const Names& names);

}  // namespace exported
