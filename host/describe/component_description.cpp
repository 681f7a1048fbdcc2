#include "host/describe/component_description.h"

#include <nlohmann/json.hpp>

#include "framework/components/kinds/dataset.h"
#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/metric.h"
#include "framework/components/kinds/model.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/config/values/check_value.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/files/files.h"
#include "host/describe/component_example.h"

namespace tenon::host {

namespace {

using config::ComponentKind;
using Json = nlohmann::ordered_json;

std::vector<DescribedPort> describe_all(const std::vector<components::Port>& ports) {
  std::vector<DescribedPort> described;
  for (const components::Port& one : ports)
    described.push_back({one.name, components::describe_dtypes(one.dtypes), components::to_string(one.shape), one.doc});
  return described;
}

// Returns the parameters that have a value: the given ones and those with a default.
std::vector<config::ParamSchema> known_params(const config::ComponentSchema& schema, const config::Node::Table& given) {
  std::vector<config::ParamSchema> known;
  for (const config::ParamSchema& param : schema.params)
    if (param.default_value || given.contains(param.name)) known.push_back(param);
  return known;
}

// Returns their values. Relative paths start from the working directory.
config::Values resolve_given(const config::ComponentSchema& schema, const config::Node::Table& given,
                             config::Diagnostics& diagnostics) {
  config::RunConfig config;
  config.folder = support::make_absolute(".");
  const std::vector<config::ParamSchema> known = known_params(schema, given);
  return config::resolve_params({schema.id, known, given, "params", {"--set", 0, 0}, config}, diagnostics);
}

void request(const components::Component& component, const config::ComponentPlan& plan, ComponentPorts& ports) {
  switch (component.schema.kind) {
    case ComponentKind::model: {
      const components::Model model(component, plan);
      ports.inputs = describe_all(model.inputs());
      ports.outputs = describe_all(model.outputs());
      for (const components::ModelResult& result : model.results())
        ports.results.push_back(result.name + (result.is_list ? " (a list)" : "") +
                                (result.doc.empty() ? "" : "  " + result.doc));
      return;
    }
    case ComponentKind::dataset: {
      const components::Dataset dataset(component, {plan, component.schema.id});
      for (const components::Dataset::Field& field : dataset.fields())
        ports.fields.push_back({field.name, components::dtype_name(field.dtype),
                                components::to_string(components::sample_pattern(field)), ""});
      return;
    }
    case ComponentKind::loss: {
      const components::Loss loss(component, {plan, component.schema.id, 1});
      ports.inputs = describe_all(loss.inputs());
      return;
    }
    case ComponentKind::metric: {
      const components::Metric metric(component, {plan, component.schema.id});
      ports.inputs = describe_all(metric.inputs());
      for (const components::Metric::MetricValue& value : metric.values())
        ports.values.push_back(value.name + (value.direction > 0   ? " (higher is better)"
                                             : value.direction < 0 ? " (lower is better)"
                                                                   : ""));
      return;
    }
    case ComponentKind::callback:
    case ComponentKind::transform: return;
  }
}

std::string default_of(const config::ParamSchema& param) {
  return param.default_value ? config::to_toml(*param.default_value) : "";
}

// Returns "in [1, inf)", "one of "a", "b"", or "".
std::string limits_of(const config::ParamSchema& param) {
  if (!param.choices.empty()) {
    std::string text = "one of ";
    for (const std::string& choice : param.choices)
      text += (choice == param.choices.front() ? "" : ", ") + config::to_toml(config::Value(choice));
    return text;
  }
  return param.range_text.empty() ? "" : "in " + param.range_text;
}

std::string tier_of(const components::PluginInfo& plugin) {
  return plugin.torch_build.empty() ? "portable" : "native, LibTorch " + plugin.torch_build;
}

std::string format_ports(const char* title, const std::vector<DescribedPort>& ports) {
  if (ports.empty()) return "";
  std::string text = "\n" + std::string(title) + "\n";
  for (const DescribedPort& port : ports)
    text += "  " + port.name + ": " + port.dtypes + " " + port.shape + (port.doc.empty() ? "" : "  " + port.doc) + "\n";
  return text;
}

// Escapes `|`, which would end the cell.
std::string cell(std::string text) {
  for (size_t i = 0; (i = text.find('|', i)) != text.npos; i += 2) text.insert(i, "\\");
  return text;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

std::string format_port_table(const char* title, const std::vector<DescribedPort>& ports) {
  if (ports.empty()) return "";
  std::string text = "\n| " + std::string(title) + " | dtype | shape | |\n|---|---|---|---|\n";
  for (const DescribedPort& port : ports)
    text += "| " + code(port.name) + " | " + port.dtypes + " | " + code(port.shape) + " | " + cell(port.doc) + " |\n";
  return text;
}

Json to_json(const std::vector<DescribedPort>& ports) {
  Json list = Json::array();
  for (const DescribedPort& port : ports)
    list.push_back({{"name", port.name}, {"dtypes", port.dtypes}, {"shape", port.shape}, {"doc", port.doc}});
  return list;
}

Json to_json(const ComponentDescription& description) {
  const config::ComponentSchema& schema = *description.schema;
  const components::PluginInfo& plugin = *description.plugin;
  Json params = Json::array();
  for (const config::ParamSchema& param : schema.params)
    params.push_back({{"name", param.name},
                      {"type", config::to_string(param.type)},
                      {"required", !param.default_value},
                      {"default", default_of(param)},
                      {"range", param.range_text},
                      {"choices", param.choices},
                      {"doc", param.doc}});
  Json json{{"kind", config::to_string(schema.kind)},
            {"id", schema.id},
            {"doc", schema.doc},
            {"plugin",
             {{"id", plugin.id},
              {"version", plugin.version},
              {"license", plugin.license},
              {"torch_build", plugin.torch_build},
              {"file", plugin.file.string()},
              {"sha256", plugin.sha256}}},
            {"parameters", params},
            {"example", make_example(*description.schema, description.given)}};
  if (!description.ports) return json;
  const ComponentPorts& ports = *description.ports;
  json["not_created"] = ports.not_created;
  json["inputs"] = to_json(ports.inputs);
  json["outputs"] = to_json(ports.outputs);
  json["fields"] = to_json(ports.fields);
  json["results"] = ports.results;
  json["values"] = ports.values;
  return json;
}

// Returns the part after the parameters.
std::string format_rest(const ComponentDescription& description) {
  if (!description.ports) {
    const ComponentKind kind = description.schema->kind;
    if (kind == ComponentKind::callback) return "";
    if (kind == ComponentKind::transform)
      return std::ranges::count(description.schema->params, "p", &config::ParamSchema::name) > 0
                 ? ""
                 : "\nAs in every transform, an argument p is the probability of being applied; 1 by default.\n";
    return "\ninputs, outputs, fields and metric values: host describe " + description.schema->id +
           " --ports (runs code of the plugin)\n";
  }
  const ComponentPorts& ports = *description.ports;
  std::string text = format_ports("inputs", ports.inputs) + format_ports("outputs", ports.outputs) +
                     format_ports("fields of a sample", ports.fields);
  for (const auto& [title, lines] : {std::pair("results", &ports.results), std::pair("metric values", &ports.values)}) {
    if (!lines->empty()) text += fmt::format("\n{}\n", title);
    for (const std::string& line : *lines) text += "  " + line + "\n";
  }
  if (!ports.not_created.empty()) text += "\n" + ports.not_created + "\n";
  return text;
}

}  // namespace

void check_given(const config::ComponentSchema& schema, const config::Node::Table& given) {
  config::Diagnostics diagnostics;
  resolve_given(schema, given, diagnostics);
  diagnostics.throw_if_any();
}

ComponentPorts query_ports(const components::Component& component, const config::Node::Table& given) {
  ComponentPorts ports;
  for (const config::ParamSchema& param : component.schema.params)
    if (!param.default_value && !given.contains(param.name)) ports.missing.push_back(param.name);
  if (!ports.missing.empty()) {
    ports.not_created = "the rest is known only with values for: " + reporting::join(ports.missing);
    return ports;
  }
  config::Diagnostics diagnostics;
  config::ComponentPlan plan;
  plan.use = component.schema.id;
  plan.params = resolve_given(component.schema, given, diagnostics);
  plan.place = "host describe";
  try {
    request(component, plan, ports);
  } catch (const std::exception& error) {
    ports.not_created = error.what();
  }
  return ports;
}

std::string format_text(const ComponentDescription& description) {
  const config::ComponentSchema& schema = *description.schema;
  const components::PluginInfo& plugin = *description.plugin;
  std::string text = std::string(config::to_string(schema.kind)) + " " + schema.id + ": " + schema.doc + "\n";
  text += "  plugin " + plugin.id + " " + plugin.version + " (" + plugin.license + ", " + tier_of(plugin) + ")\n  " +
          plugin.file.string() + "\n";
  if (!schema.params.empty()) text += "\nparams\n";
  for (const config::ParamSchema& param : schema.params) {
    const std::string limits = limits_of(param);
    text += "  " + param.name + (param.default_value ? " = " + default_of(param) : " (required)") + "  " +
            config::to_string(param.type) + (limits.empty() ? "" : ", " + limits) + "\n";
    if (!param.doc.empty()) text += "      " + param.doc + "\n";
  }
  return text + format_rest(description);
}

std::string format_markdown(const ComponentDescription& description) {
  const config::ComponentSchema& schema = *description.schema;
  std::string text = "## " + std::string(config::to_string(schema.kind)) + " `" + schema.id + "`\n\n" + schema.doc +
                     ". Plugin " + code(description.plugin->id) + ".\n";
  if (!schema.params.empty()) text += "\n| parameter | type | default | allowed | |\n|---|---|---|---|---|\n";
  for (const config::ParamSchema& param : schema.params)
    text += "| " + code(param.name) + " | " + config::to_string(param.type) + " | " +
            (param.default_value ? code(default_of(param)) : "required") + " | " + cell(limits_of(param)) + " | " +
            cell(param.doc) + " |\n";
  if (description.ports) {
    const ComponentPorts& ports = *description.ports;
    text += format_port_table("input", ports.inputs) + format_port_table("output", ports.outputs) +
            format_port_table("field", ports.fields);
    if (!ports.results.empty()) text += "\nResults: " + reporting::join(ports.results) + ".\n";
    if (!ports.values.empty()) text += "\nMetric values: " + reporting::join(ports.values) + ".\n";
    if (!ports.missing.empty())
      text += "\nInputs, outputs and fields depend on " + code(reporting::join(ports.missing)) + ": `host describe " +
              schema.id + " --ports --set " + ports.missing.front() + "=...` shows them.\n";
  }
  return text + "\n```toml\n" + make_example(*description.schema, description.given) + "```\n";
}

std::string format_json(const std::vector<ComponentDescription>& descriptions) {
  Json list = Json::array();
  for (const ComponentDescription& description : descriptions) list.push_back(to_json(description));
  // A plugin text that is not UTF-8 must not prevent the output of the rest.
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::host
