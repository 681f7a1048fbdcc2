#include "framework/plugins/components/parameter_roles.h"

#include <algorithm>

#include <tenon/parameter_roles.h>

#include "framework/plugins/components/instance.h"
#include "framework/support/error.h"

namespace tenon::plugins {

namespace {

[[noreturn]] void refuse_roles(const Component& component, const std::string& what) {
  throw support::Error(support::ErrorKind::plugin, component.describe() + ", roles: " + what);
}

// The parameters with the role, in the order of the component's list.
std::vector<const config::ParamSchema*> list_parameters(const Component& component, uint32_t role) {
  const auto* extension = extension_of<tenon_parameter_roles>(component, TENON_PARAMETER_ROLES);
  if (!extension) return {};
  const tenon_parameter_role* roles = nullptr;
  uint64_t count = 0;
  call_plugin(component, "roles", [&] { return extension->roles(&roles, &count); });
  if (count > 0 && !roles) refuse_roles(component, "the list is null; expected " + std::to_string(count) + " roles");
  std::vector<const config::ParamSchema*> found;
  for (uint64_t i = 0; i < count; ++i) {
    if (roles[i].role != role) continue;
    const std::string name = to_string(roles[i].parameter);
    const auto& params = component.schema.params;
    const auto param = std::ranges::find(params, name, &config::ParamSchema::name);
    if (param == params.end()) refuse_roles(component, "the parameter \"" + name + "\" is not in the schema");
    found.push_back(&*param);
  }
  return found;
}

}  // namespace

std::vector<std::string> list_metric_parameters(const Component& component) {
  std::vector<std::string> names;
  for (const config::ParamSchema* param : list_parameters(component, TENON_ROLE_METRIC)) {
    if (param->type != config::ParamType::string && param->type != config::ParamType::strings)
      refuse_roles(component, "the parameter \"" + param->name +
                                  "\" has the role of a metric's name; expected its type to be a string or a list of "
                                  "strings");
    names.push_back(param->name);
  }
  return names;
}

std::optional<std::string> find_unlabelled_parameter(const Component& component) {
  const auto params = list_parameters(component, TENON_ROLE_UNLABELLED);
  if (params.empty()) return std::nullopt;
  if (params.size() > 1 || params.front()->type != config::ParamType::strings)
    refuse_roles(component,
                 "the parameter \"" + params.back()->name +
                     "\" has the role of unlabelled inputs; expected one parameter with this role, a list of "
                     "strings");
  return params.front()->name;
}

}  // namespace tenon::plugins
