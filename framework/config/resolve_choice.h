// From a table whose `use` names something built in to all values that its schema has.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/built_in_schemas.h"
#include "framework/config/resolve_component.h"

namespace tenon::config {

// All values of the schema that `id`, what `use` says, names; none if it names nothing or a value is missing or wrong,
// which then is among the mistakes. `what`: "optimizer", for messages.
std::optional<Values> resolve_choice(const ComponentConfig& config, const std::string& what,
                                     const std::vector<BuiltInSchema>& schemas, const std::string& id,
                                     const Resolving& resolving);

// REQUIRES: the value is there and of this type.
template <class T>
T get(const Values& values, const std::string& name) {
  return std::get<T>(values.at(name));
}

}  // namespace tenon::config
