// Resolves a table with a built-in `use` to all values of its schema.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/resolve/built_in_schemas.h"
#include "framework/config/resolve/resolve_component.h"

namespace tenon::config {

// Returns all values of the schema with this `id`, the value of `use`. If the id is unknown, or a value is missing or
// wrong, adds an error and returns none. `what` is for messages, such as "optimizer".
std::optional<Values> resolve_choice(const ComponentConfig& config, const std::string& what,
                                     const std::vector<BuiltInSchema>& schemas, const std::string& id,
                                     const Resolving& resolving);

}  // namespace tenon::config
