#include "framework/plugins/components/parameter_roles.h"

#include <algorithm>

#include <tenon/parameter_roles.h>

#include "framework/plugins/components/instance.h"
#include "framework/support/error.h"

namespace tenon::plugins {

std::vector<std::string> list_metric_parameters(const Component& component) {
  const auto* extension = extension_of<tenon_parameter_roles>(component, TENON_PARAMETER_ROLES);
  if (!extension) return {};
  const tenon_parameter_role* roles = nullptr;
  uint64_t count = 0;
  call_plugin(component, "roles", [&] { return extension->roles(&roles, &count); });
  const auto refuse = [&](const std::string& what) {
    throw support::Error(support::ErrorKind::plugin, component.describe() + ", roles: " + what);
  };
  if (count > 0 && !roles) refuse("the list is null; expected " + std::to_string(count) + " roles");
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    if (roles[i].role != TENON_ROLE_METRIC) continue;
    const std::string name = to_string(roles[i].parameter);
    const auto& params = component.schema.params;
    const auto param = std::ranges::find(params, name, &config::ParamSchema::name);
    if (param == params.end()) refuse("the parameter \"" + name + "\" is not in the schema");
    if (param->type != config::ParamType::string && param->type != config::ParamType::strings)
      refuse("the parameter \"" + name +
             "\" has the role of a metric's name; expected its type to be a string or a list of strings");
    names.push_back(name);
  }
  return names;
}

}  // namespace tenon::plugins
