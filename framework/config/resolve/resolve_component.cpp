#include "framework/config/resolve/resolve_component.h"

#include "framework/config/resolve/resolve_params.h"
#include "framework/config/resolve/suggest_component.h"
#include "framework/formats/nearest_name.h"

namespace tenon::config {
namespace {

// Returns "; digits is a dataset" if the id exists as another kind of component.
std::string describe_other_kind(const std::string& id, const SchemaSource& schemas) {
  for (const auto kind : {ComponentKind::model, ComponentKind::dataset, ComponentKind::loss, ComponentKind::metric,
                          ComponentKind::callback}) {
    if (schemas.find_schema(kind, id) != nullptr) return "; " + id + " is a " + to_string(kind);
  }
  return "";
}

const ComponentSchema* find_schema(const ComponentConfig& config, ComponentKind kind, const Resolving& resolving) {
  const std::string expected = std::string("; expected the id of a ") + to_string(kind);
  const std::vector<std::string> ids = resolving.schemas.component_ids(kind);
  const std::string key = config.path + ".use";
  if (!config.use.value) {
    resolving.diagnostics.add(config.use.place, key + " is missing" + expected + formats::suggest_name("", ids));
    return nullptr;
  }
  const std::string& id = *config.use.value;
  const ComponentSchema* schema = resolving.schemas.find_schema(kind, id);
  if (schema == nullptr && kind == ComponentKind::callback && id == "mlflow") {
    resolving.diagnostics.add(config.use.place,
                              "callback \"mlflow\" is no longer part of Tenon; remove it, and log the "
                              "run with: tenon-log mlflow RUN");
  } else if (schema == nullptr) {
    resolving.diagnostics.add(config.use.place, key + " is " + to_toml(id) + expected +
                                                    describe_other_kind(id, resolving.schemas) +
                                                    suggest_component(kind, id, resolving.schemas) + " (" +
                                                    resolving.schemas.describe_search() + ")");
  }
  return schema;
}

bool is_source(const std::string& text, const std::string& prefix) {
  return text.size() > prefix.size() && text.starts_with(prefix);
}

std::map<std::string, std::string> resolve_inputs(const ComponentConfig& config, ComponentKind kind,
                                                  Diagnostics& diagnostics) {
  const bool is_model = kind == ComponentKind::model;
  std::map<std::string, std::string> inputs;
  for (const auto& [port, source] : config.inputs) {
    const std::string& text = *source.value;
    if (is_source(text, "data.") || (!is_model && is_source(text, "model."))) {
      inputs[port] = text;
      continue;
    }
    diagnostics.add(source.place, config.path + ".inputs." + port + " is " + to_toml(text) + "; expected " +
                                      (is_model ? "" : "\"model.<output>\" or ") + "\"data.<field>\"");
  }
  return inputs;
}

}  // namespace

ComponentPlan resolve_component(const ComponentConfig& config, ComponentKind kind, const Resolving& resolving) {
  ComponentPlan plan;
  plan.place = to_string(config.use.place);
  plan.inputs = resolve_inputs(config, kind, resolving.diagnostics);
  const ComponentSchema* schema = find_schema(config, kind, resolving);
  if (schema == nullptr) return plan;
  plan.use = schema->id;
  for (const ParamSchema& param : schema->params)
    if (!config.params.contains(param.name)) plan.left_out.push_back(param.name);
  plan.params = resolve_params(
      {schema->id, schema->params, config.params, config.path + ".params", config.place, resolving.config},
      resolving.diagnostics);
  return plan;
}

}  // namespace tenon::config
