// The roles that a component declares for its parameters, see tenon/parameter_roles.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/calls/component.h"

namespace tenon::components {

// The parameters with TENON_ROLE_METRIC, in the order of the component's list. Throws Error(plugin) if a parameter is
// not in the schema or is no string or list of strings.
std::vector<std::string> list_metric_parameters(const Component& component);

// A parameter that stands for a size of the data.
struct SizeParameter {
  uint32_t role;  // TENON_ROLE_CLASSES, _CHANNELS, _FEATURES or _VOCABULARY
  const config::ParamSchema* schema;
};

// The parameters with one of these roles, in the order of the component's list. Throws Error(plugin) if a parameter is
// not in the schema or is no integer with a default.
std::vector<SizeParameter> list_size_parameters(const Component& component);

// The parameter with TENON_ROLE_UNLABELLED; nothing if no parameter has it. Throws Error(plugin) if it is not in the
// schema or is no list of strings.
std::optional<std::string> find_unlabelled_parameter(const Component& component);

}  // namespace tenon::components
