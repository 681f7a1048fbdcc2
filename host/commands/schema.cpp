// `host schema`: prints a JSON schema of run files.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "framework/config/file/read_run_config.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/config/values/text_values.h"
#include "framework/config/values/transform_presets.h"

#include "framework/components/loading/catalogue.h"
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"
#include "host/describe/find_plugins.h"

namespace tenon::host {

namespace {

using config::ComponentKind;
using config::ParamSchema;
using config::ParamType;
using config::RequestedKey;
using Json = nlohmann::ordered_json;

Json to_json(const config::Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

// The bound of a range; the largest integers round up as floating-point numbers.
int64_t to_integer(double bound) {
  return bound >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(bound);
}

// Describes one value or one list element.
Json describe_element(const char* type, const ParamSchema& param) {
  Json schema{{"type", type}};
  if (!param.choices.empty()) schema["enum"] = param.choices;
  if (!param.range) return schema;
  // JSON has no infinity. An absent limit means the same.
  const auto limit = [&](double number, const char* key) {
    if (std::abs(number) > 1e300) return;
    schema[key] = param.type == ParamType::integer ? Json(to_integer(number)) : Json(number);
  };
  limit(param.range->lower, param.range->lower_closed ? "minimum" : "exclusiveMinimum");
  limit(param.range->upper, param.range->upper_closed ? "maximum" : "exclusiveMaximum");
  return schema;
}

Json describe_value(const ParamSchema& param) {
  const auto list_of = [&](const char* type) {
    return Json{{"type", "array"}, {"items", describe_element(type, param)}};
  };
  Json schema;
  switch (param.type) {
    case ParamType::boolean: schema = {{"type", "boolean"}}; break;
    case ParamType::integer: schema = describe_element("integer", param); break;
    case ParamType::floating: schema = describe_element("number", param); break;
    case ParamType::string:
    case ParamType::path: schema = describe_element("string", param); break;
    case ParamType::integers: schema = list_of("integer"); break;
    case ParamType::floats: schema = list_of("number"); break;
    case ParamType::strings: schema = list_of("string"); break;
  }
  if (const auto presets = config::presets_of(param); !presets.empty()) {
    Json names = Json::array();
    for (const config::TransformPreset& preset : presets) names.push_back(preset.name);
    schema = {{"anyOf", {schema, {{"enum", names}}}}};
  }
  if (!param.doc.empty()) schema["description"] = param.doc;
  if (param.default_value) schema["default"] = to_json(*param.default_value);
  return schema;
}

Json text_like(const char* pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

Json describe_form(const RequestedKey& key) {
  switch (key.form) {
    case RequestedKey::Form::value: return describe_value(key.schema);
    case RequestedKey::Form::value_or_word: return {{"anyOf", {describe_value(key.schema), {{"const", key.word}}}}};
    case RequestedKey::Form::period:
      return text_like(R"(^(never|[0-9.]+(e[0-9]+)? (epoch|step|hour|minute|second)s?)$)");
    case RequestedKey::Form::subset: return text_like(R"(^[0-9]{1,3}(\.[0-9]+)?%(-[0-9]{1,3}(\.[0-9]+)?%)?$)");
    case RequestedKey::Form::device: return text_like("^(auto|cpu|cuda(:[0-9]+)?)$");
    case RequestedKey::Form::digest: return text_like("^[0-9A-Fa-f]{64}$");
    case RequestedKey::Form::table:
    case RequestedKey::Form::rest:
      return {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
    case RequestedKey::Form::tables: break;
  }
  RequestedKey item = key;
  item.form = RequestedKey::Form::table;
  return {{"type", "array"}, {"items", describe_form(item)}};
}

Json describe(RequestedKey key) {
  const std::string doc = std::exchange(key.schema.doc, "");
  Json schema = describe_form(key);
  if (!doc.empty()) schema["description"] = doc;
  return schema;
}

// Finds the schema of a table such as "data.train" or "loss[]" in the complete schema.
Json& find_table(Json& schema, const std::string& path) {
  Json* found = &schema;
  for (size_t start = 0; start < path.size();) {
    const size_t end = std::min(path.find('.', start), path.size());
    std::string key = path.substr(start, end - start);
    const bool is_list = key.ends_with("[]");
    if (is_list) key.resize(key.size() - 2);
    found = &(*found)["properties"][key];
    if (is_list) found = &(*found)["items"];
    start = end + 1;
  }
  return *found;
}

void put_key(Json& schema, const RequestedKey& key) {
  if (key.form == RequestedKey::Form::rest) {
    find_table(schema, key.path)["additionalProperties"] = true;
    return;
  }
  const size_t dot = key.path.rfind('.');
  const std::string name = dot == key.path.npos ? key.path : key.path.substr(dot + 1);
  Json& table = find_table(schema, dot == key.path.npos ? "" : key.path.substr(0, dot));
  (name == "*" ? table["additionalProperties"] : table["properties"][name]) = describe(key);
}

Json describe_params(const std::vector<ParamSchema>& params) {
  Json properties = Json::object();
  for (const ParamSchema& param : params) properties[param.name] = describe_value(param);
  return properties;
}

// The schemas of schedules declare lengths as text. Run files may also give numbers.
Json describe_schedule_params(const std::vector<ParamSchema>& params) {
  const Json number_of_steps{{"type", "integer"}, {"minimum", 0}, {"maximum", config::kMostScheduleSteps}};
  const Json length{{"anyOf",
                     {text_like("^(rest|[0-9.]+(e[0-9]+)? (epoch|step)s?)$"),
                      number_of_steps,
                      {{"type", "number"}, {"minimum", 0}, {"maximum", 1}}}}};
  Json properties = describe_params(params);
  for (const auto& [name, schema] : properties.items())
    if (config::is_schedule_length(name)) {
      schema.erase("type");
      schema.update(length);
    }
  if (properties.contains("milestones")) properties["milestones"]["items"] = length;
  properties["warmup_steps"] = number_of_steps;
  return properties;
}

std::vector<std::string> required_of(const std::vector<ParamSchema>& params) {
  std::vector<std::string> names;
  for (const ParamSchema& param : params)
    if (!param.default_value) names.push_back(param.name);
  return names;
}

Json where_use_is(const std::string& id, Json then) {
  return {{"if", {{"properties", {{"use", {{"const", id}}}}}, {"required", {"use"}}}}, {"then", std::move(then)}};
}

// Allows the components of a kind at `path`, with their parameters in a separate table.
void put_components(Json& schema, const std::string& path, ComponentKind kind,
                    const std::vector<config::ComponentSchema>& components) {
  Json ids = Json::array(), cases = Json::array();
  for (const config::ComponentSchema& component : components) {
    if (component.kind != kind) continue;
    ids.push_back({{"const", component.id}, {"description", component.doc}});
    Json params{{"description", component.doc},
                {"properties", describe_params(component.params)},
                {"additionalProperties", false}};
    const std::vector<std::string> required = required_of(component.params);
    if (!required.empty()) params["required"] = required;
    Json then{{"properties", {{"params", std::move(params)}}}};
    if (!required.empty()) then["required"] = {"params"};
    cases.push_back(where_use_is(component.id, std::move(then)));
  }
  Json& table = find_table(schema, path);
  table["required"] = {"use"};
  if (ids.empty()) return;  // no plugins of that kind were found: accept any id
  table["properties"]["use"]["oneOf"] = std::move(ids);
  table["allOf"] = std::move(cases);
}

// Allows built-in choices at `path`, with their parameters next to `use`. `unnamed`: the choice without `use`; empty:
// `use` is required.
void put_choices(Json& schema, const std::string& path, const std::vector<config::BuiltInSchema>& choices,
                 const std::string& unnamed, Json (*describe_them)(const std::vector<ParamSchema>&)) {
  Json& table = find_table(schema, path);
  std::vector<std::string> ids;
  Json cases = Json::array();
  for (const config::BuiltInSchema& choice : choices) {
    ids.push_back(choice.id);
    Json names = Json::array();
    for (const auto& item : table["properties"].items()) names.push_back(item.key());
    Json properties = describe_them(choice.params);
    for (const auto& item : properties.items()) names.push_back(item.key());
    Json then{{"properties", std::move(properties)}, {"propertyNames", {{"enum", names}}}};
    const std::vector<std::string> required = required_of(choice.params);
    if (!required.empty()) then["required"] = required;
    Json one = where_use_is(choice.id, std::move(then));
    if (choice.id == unnamed) one["if"].erase("required");
    cases.push_back(std::move(one));
  }
  table["properties"]["use"]["enum"] = ids;
  if (unnamed.empty()) table["required"] = {"use"};
  table["allOf"] = std::move(cases);
}

// Validation and test data are one dataset or a table of named datasets.
void allow_named_datasets(Json& data) {
  Json dataset = data;
  const Json is_dataset{{"anyOf", {{{"required", {"use"}}}, {{"required", {"like"}}}}}};
  dataset.erase("required");
  dataset.update(is_dataset);
  data = {{"if", is_dataset}, {"then", dataset}, {"else", {{"type", "object"}, {"additionalProperties", dataset}}}};
}

// Uses JSON Schema draft 7, which TOML editors support: https://json-schema.org/draft-07
Json make_run_file_schema(const std::vector<config::ComponentSchema>& components) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "A run file of Tenon"},
              {"type", "object"},
              {"properties", Json::object()},
              {"additionalProperties", false}};
  for (const RequestedKey& key : config::list_run_file_keys()) put_key(schema, key);
  put_components(schema, "model", ComponentKind::model, components);
  put_components(schema, "data.train", ComponentKind::dataset, components);
  put_components(schema, "data.validation", ComponentKind::dataset, components);
  put_components(schema, "data.test", ComponentKind::dataset, components);
  put_components(schema, "loss[]", ComponentKind::loss, components);
  put_components(schema, "metric[]", ComponentKind::metric, components);
  put_components(schema, "callback[]", ComponentKind::callback, components);
  put_choices(schema, "optimizer", config::optimizer_schemas(), "", describe_params);
  put_choices(schema, "schedule", config::schedule_schemas(), "constant", describe_schedule_params);
  put_choices(schema, "data.batch_transform[]", config::batch_transform_schemas(), "", describe_params);
  allow_named_datasets(find_table(schema, "data")["properties"]["validation"]);
  allow_named_datasets(find_table(schema, "data")["properties"]["test"]);
  return schema;
}

int print_schema(const Arguments& arguments) {
  std::vector<config::ComponentSchema> components;
  for (const components::PluginInfo& plugin : survey_notes(arguments.plugin_directories()).plugins)
    components.insert(components.end(), plugin.components.begin(), plugin.components.end());
  reporting::write_output_json(make_run_file_schema(components), 1);
  return 0;
}

}  // namespace

extern const Command schema_command{.name = "schema",
                                    .purpose = "print a JSON schema of run files for editors",
                                    .details =
                                        "Prints a JSON schema of run files with the parameters of all plugins found. "
                                        "Editors use it to complete and check run files.",
                                    .page = "guides/editors.md",
                                    .add_options = add_plugin_directory_option,
                                    .run = print_schema};

}  // namespace tenon::host
