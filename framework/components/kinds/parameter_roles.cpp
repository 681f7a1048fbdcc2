#include "framework/components/kinds/parameter_roles.h"

#include <algorithm>

#include <tenon/parameter_roles.h>

#include "framework/components/kinds/instance.h"

namespace tenon::components {

namespace {

bool is_size(uint32_t role) { return role >= TENON_ROLE_CLASSES && role <= TENON_ROLE_VOCABULARY; }

bool is_known(uint32_t role) { return role == TENON_ROLE_METRIC || role == TENON_ROLE_UNLABELLED || is_size(role); }

// All parameters with a role that this host knows, in the order of the component's list.
std::vector<SizeParameter> list_roles(const Component& component) {
  const auto* extension = extension_of<tenon_parameter_roles>(component, TENON_PARAMETER_ROLES);
  if (!extension) return {};
  const tenon_parameter_role* roles = nullptr;
  uint64_t count = 0;
  call_plugin(component, "roles", [&] { return extension->roles(&roles, &count); });
  if (count > 0 && !roles) throw_plugin_error(component, "roles", "the list is null; expected {} roles", count);
  std::vector<SizeParameter> found;
  for (uint64_t i = 0; i < count; ++i) {
    if (!is_known(roles[i].role)) continue;
    const std::string name = to_string(roles[i].parameter);
    const auto& params = component.schema.params;
    const auto param = std::ranges::find(params, name, &config::ParamSchema::name);
    if (param == params.end())
      throw_plugin_error(component, "roles", "the parameter \"" + name + "\" is not in the schema");
    found.push_back({roles[i].role, &*param});
  }
  return found;
}

std::vector<const config::ParamSchema*> list_parameters(const Component& component, uint32_t role) {
  std::vector<const config::ParamSchema*> found;
  for (const auto& [of_parameter, schema] : list_roles(component))
    if (of_parameter == role) found.push_back(schema);
  return found;
}

}  // namespace

std::vector<std::string> list_metric_parameters(const Component& component) {
  std::vector<std::string> names;
  for (const config::ParamSchema* param : list_parameters(component, TENON_ROLE_METRIC)) {
    if (param->type != config::ParamType::string && param->type != config::ParamType::strings)
      throw_plugin_error(
          component, "roles",
          "the parameter \"{}\" has the role of a metric's name; expected its type to be a string or a list of strings",
          param->name);
    names.push_back(param->name);
  }
  return names;
}

std::vector<SizeParameter> list_size_parameters(const Component& component) {
  std::vector<SizeParameter> sizes;
  for (const SizeParameter& one : list_roles(component)) {
    if (!is_size(one.role)) continue;
    if (one.schema->type != config::ParamType::integer || !one.schema->default_value)
      throw_plugin_error(component, "roles",
                         "the parameter \"{}\" has the role of a size of the data; expected an integer with a default",
                         one.schema->name);
    sizes.push_back(one);
  }
  return sizes;
}

std::optional<std::string> find_unlabelled_parameter(const Component& component) {
  const auto params = list_parameters(component, TENON_ROLE_UNLABELLED);
  if (params.empty()) return std::nullopt;
  if (params.size() > 1 || params.front()->type != config::ParamType::strings)
    throw_plugin_error(component, "roles",
                       "the parameter \"{}\" has the role of unlabelled inputs; expected one parameter with this role, "
                       "a list of strings",
                       params.back()->name);
  return params.front()->name;
}

}  // namespace tenon::components
