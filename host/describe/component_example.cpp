#include "host/describe/component_example.h"

#include <optional>

#include "framework/components/calls/plugin_transforms.h"
#include "framework/config/values/check_value.h"
#include "framework/support/text/format.h"

namespace tenon::host {

namespace {

using config::ComponentKind;

// Returns the TOML value that the example shows for a required parameter.
const char* placeholder_of(const config::ParamSchema& param) {
  switch (param.type) {
    case config::ParamType::boolean: return "false";
    case config::ParamType::integer:
    case config::ParamType::floating: return "1";
    case config::ParamType::string:
    case config::ParamType::path: return "\"...\"";
    default: return "[]";
  }
}

const char* section_of(config::ComponentKind kind) {
  switch (kind) {
    case config::ComponentKind::model: return "[model]";
    case config::ComponentKind::dataset: return "[data.train]";
    case config::ComponentKind::loss: return "[[loss]]";
    case config::ComponentKind::metric: return "[[metric]]";
    case config::ComponentKind::callback: return "[[callback]]";
    case config::ComponentKind::transform: return "[data.train.params]";
  }
  return "";
}

std::string value_of(const config::ParamSchema& param, const config::Node::Table& given) {
  const auto found = given.find(param.name);
  if (found != given.end()) {
    const std::optional<config::Value> value = config::check_value(found->second, param);
    return value ? config::to_toml(*value) : found->second.text;
  }
  return param.choices.empty() ? placeholder_of(param) : config::to_toml(config::Value(param.choices.front()));
}

}  // namespace

std::string make_example(const config::ComponentSchema& schema, const config::Node::Table& given) {
  const bool is_transform = schema.kind == ComponentKind::transform;
  const char* const assigned = is_transform ? "=" : " = ";
  std::string params;
  for (const config::ParamSchema& param : schema.params)
    if (!param.default_value || given.contains(param.name))
      params += (params.empty() ? "" : ", ") + param.name + assigned + value_of(param, given);
  if (is_transform)
    return fmt::format("{}\ntransforms = [\"{}({})\", \"normalize()\"]\n", section_of(schema.kind), schema.id,
                       components::to_argument_syntax(params));
  return std::string(section_of(schema.kind)) + "\nuse = \"" + schema.id + "\"\n" +
         (params.empty() ? "" : "params = { " + params + " }\n");
}

}  // namespace tenon::host
