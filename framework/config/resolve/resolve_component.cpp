#include "framework/config/resolve/resolve_component.h"

#include <algorithm>

#include "framework/config/file/batch_transform_keys.h"
#include "framework/config/file/optimizer_keys.h"
#include "framework/config/file/schedule_keys.h"
#include "framework/config/file/schema_keys.h"
#include "framework/config/file/suggest_names.h"
#include "framework/config/values/check_value.h"
#include "framework/formats/nearest_name.h"

namespace tenon::config {
namespace {

// Returns "; digits is a dataset" if the id exists as another kind of component.
std::string describe_other_kind(const std::string& id, const SchemaSource& schemas) {
  for (const auto kind : {ComponentKind::model, ComponentKind::dataset, ComponentKind::loss, ComponentKind::metric,
                          ComponentKind::callback, ComponentKind::transform})
    if (schemas.find_schema(kind, id) != nullptr) return "; " + id + " is a " + to_string(kind);
  return "";
}

const ComponentSchema* find_schema(const ComponentConfig& config, ComponentKind kind, const Resolving& resolving) {
  const std::string expected = std::string("; expected the id of a ") + to_string(kind);
  const std::vector<std::string> ids = resolving.schemas.component_ids(kind);
  const std::string key = config.path + ".use";
  if (!config.use.value) {
    resolving.diagnostics.add(config.use.place, "{} is missing{}{}", key, expected, formats::suggest_name("", ids));
    return nullptr;
  }
  const std::string& id = *config.use.value;
  const ComponentSchema* schema = resolving.schemas.find_schema(kind, id);
  if (schema == nullptr && kind == ComponentKind::callback && id == "mlflow") {
    resolving.diagnostics.add(
        config.use.place,
        "callback \"mlflow\" is no longer part of Tenon; remove it, and log the run with: tenon-log mlflow RUN");
  } else if (schema == nullptr) {
    resolving.diagnostics.add(config.use.place, "{} is {}{}{}{} ({})", key, to_toml(id), expected,
                              describe_other_kind(id, resolving.schemas),
                              suggest_component(kind, id, resolving.schemas), resolving.schemas.describe_search());
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
    if (is_source(text, "data.") || (!is_model && is_source(text, "model.")) ||
        (kind == ComponentKind::metric && is_source(text, "result."))) {
      inputs[port] = text;
      continue;
    }
    diagnostics.add(source.place, "{}.inputs.{} is {}; expected {}{}\"data.<field>\"", config.path, port, to_toml(text),
                    is_model ? "" : "\"model.<output>\" or ",
                    kind == ComponentKind::metric ? "\"result.<result>\" or " : "");
  }
  return inputs;
}

void reject_unknown(const ParamsRequest& request, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const ParamSchema& param : request.schema) names.push_back(param.name);
  for (const auto& [name, node] : request.given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string other = formats::nearest_name(name, names) ? "" : find_key_of_other_table(request.path, name);
    diagnostics.add(node.key_place, "{}.{} is not a parameter of {}{}", request.path, name, request.id,
                    !other.empty()  ? formats::did_you_mean_name(other)
                    : names.empty() ? ", which has none"
                                    : formats::suggest_name(name, names));
  }
}

Value make_absolute(Value value, const ParamSchema& param, const std::filesystem::path& folder) {
  if (param.type != ParamType::path) return value;
  return resolve_path(std::get<std::string>(value), folder).string();
}

// A required path names something. Where "" means none, it is the default.
bool is_empty_path(const Value& value, const ParamSchema& param) {
  return param.type == ParamType::path && !param.default_value && std::get<std::string>(value).empty();
}

template <class Choice>
BuiltInSchema describe(const std::string& id, Choice defaults) {
  SchemaKeys keys;
  declare(keys, defaults);
  return {id, keys.take()};
}

template <class Choices>
std::vector<BuiltInSchema> describe_all(const Choices& choices) {
  std::vector<BuiltInSchema> schemas;
  for (const auto& choice : choices) schemas.push_back(describe(choice.use, choice.defaults));
  return schemas;
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

std::filesystem::path resolve_path(const std::string& path, const std::filesystem::path& folder) {
  return path.empty() ? std::filesystem::path() : (folder / path).lexically_normal();
}

Values resolve_params(const ParamsRequest& request, Diagnostics& diagnostics) {
  reject_unknown(request, diagnostics);
  Values values;
  for (const ParamSchema& param : request.schema) {
    const std::string key = request.path + "." + param.name;
    const auto given = request.given.find(param.name);
    std::optional<Value> value = param.default_value;
    if (given != request.given.end()) {
      value = check_value(given->second, param);
      if (!value)
        diagnostics.add(given->second.place, "{} is {}", key, describe_mismatch(given->second, param));
      else if (is_empty_path(*value, param))
        diagnostics.add(given->second.place, "{} is \"\"; expected a path that is not empty", key);
    } else if (!value) {
      diagnostics.add(request.place, "{} is missing; expected {}", key, describe_expected(param));
    }
    const SourceLocation& place = given != request.given.end() ? given->second.place : request.place;
    if (value) values[param.name] = make_absolute(std::move(*value), param, request.config.folder_of(place));
  }
  return values;
}

std::optional<Values> resolve_choice(const ComponentConfig& config, const std::string& what,
                                     const std::vector<BuiltInSchema>& schemas, const std::string& id,
                                     const Resolving& resolving) {
  std::vector<std::string> ids;
  for (const BuiltInSchema& schema : schemas) {
    ids.push_back(schema.id);
    if (schema.id != id) continue;
    Values values = resolve_params({id, schema.params, config.params, config.path, config.place, resolving.config},
                                   resolving.diagnostics);
    const bool is_complete = values.size() == schema.params.size();
    return is_complete ? std::optional(std::move(values)) : std::nullopt;
  }
  resolving.diagnostics.add(config.use.place, "{}.use is {}; expected a built-in {}{}", config.path,
                            config.use.value ? to_toml(id) : "missing", what, formats::suggest_name(id, ids));
  return std::nullopt;
}

std::vector<ComponentName> used_components(const RunPlan& plan) {
  std::vector<ComponentName> used{{ComponentKind::dataset, plan.data.train.use}};
  if (!plan.model.use.empty()) used.insert(used.begin(), {ComponentKind::model, plan.model.use});
  for (const ScheduledDataset& later : plan.data.scheduled_train) used.push_back({ComponentKind::dataset, later.use});
  for (const NamedDataset& dataset : plan.data.validation) used.push_back({ComponentKind::dataset, dataset.use});
  for (const NamedDataset& dataset : plan.data.test) used.push_back({ComponentKind::dataset, dataset.use});
  for (const LossPlan& loss : plan.losses) used.push_back({ComponentKind::loss, loss.use});
  for (const MetricPlan& metric : plan.metrics) used.push_back({ComponentKind::metric, metric.use});
  for (const CallbackPlan& callback : plan.callbacks) used.push_back({ComponentKind::callback, callback.use});
  return used;
}

namespace {

// The name that an entry of a list of transforms begins with: `vignette` of `vignette(0.5)`.
std::string name_of_entry(const std::string& entry) {
  const size_t begin = entry.find_first_not_of(" \t");
  const size_t end = entry.find_first_of(" \t(", begin);
  return begin == entry.npos ? "" : entry.substr(begin, end - begin);
}

bool is_list_of_transforms(const std::string& param) { return param == "transforms" || param.ends_with("_transforms"); }

}  // namespace

std::vector<ComponentName> used_transforms(const RunPlan& plan, const SchemaSource& schemas) {
  std::vector<ComponentName> used;
  const auto add = [&](const ComponentPlan& dataset) {
    for (const auto& [name, value] : dataset.params) {
      const auto* const entries = std::get_if<std::vector<std::string>>(&value);
      if (!entries || !is_list_of_transforms(name)) continue;
      for (const std::string& entry : *entries) {
        const ComponentName transform{ComponentKind::transform, name_of_entry(entry)};
        if (schemas.find_schema(transform.kind, transform.id)) used.push_back(transform);
      }
    }
  };
  add(plan.data.train);
  for (const NamedDataset& later : plan.data.scheduled_train) add(later);
  for (const NamedDataset& dataset : plan.data.validation) add(dataset);
  for (const NamedDataset& dataset : plan.data.test) add(dataset);
  return used;
}

const std::vector<BuiltInSchema>& optimizer_schemas() {
  static const std::vector<BuiltInSchema> schemas = describe_all(optimizer_choices());
  return schemas;
}

const std::vector<BuiltInSchema>& schedule_schemas() {
  static const std::vector<BuiltInSchema> schemas = describe_all(schedule_choices());
  return schemas;
}

const std::vector<BuiltInSchema>& batch_transform_schemas() {
  static const std::vector<BuiltInSchema> schemas = {describe("normalize", NormalizeBatch()),
                                                     describe("mix", MixBatch())};
  return schemas;
}

}  // namespace tenon::config
