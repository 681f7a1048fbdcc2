#include "framework/components/loading/check_plugin.h"

#include <cstring>
#include <set>

#include <tenon/draft/transforms.h>
#include <tenon/tenon.h>

#include "framework/components/loading/plugin_note.h"
#include "framework/formats/unicode.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::components {

using config::ComponentKind;
using support::Error;
using support::ErrorKind;

namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorKind::plugin, file.string() + ": " + what);
}

// Reads a text of a plugin. Invalid UTF-8 would garble every message and file that quotes it.
std::string read_text(const std::filesystem::path& file, tenon_string text, const std::string& field) {
  if (text.size > kMaxTextLength)
    refuse(file, fmt::format("{} has {} bytes; expected at most 65536", field, text.size));
  if (text.size > 0 && !text.data) refuse(file, field + " has a length but no text");
  const std::string bytes = to_string(text);
  if (const size_t at = formats::find_invalid_utf8(bytes); at != bytes.size())
    refuse(file, field + " is not UTF-8 at byte " + std::to_string(at));
  return bytes;
}

std::string read_id(const std::filesystem::path& file, tenon_string text, const std::string& field) {
  const std::string id = read_text(file, text, field);
  if (!is_id(id))
    refuse(file, field + " is \"" + id + "\"; expected lower-case letters, digits, _ or -, beginning with a letter");
  return id;
}

template <class Struct>
void require_size(const std::filesystem::path& file, const Struct* pointer, uint64_t smallest,
                  const std::string& what) {
  if (!pointer) refuse(file, what + " is a null pointer");
  if (pointer->size < smallest)
    refuse(file, fmt::format("{} is {} bytes long; expected at least {}: the table is cut short", what, pointer->size,
                             smallest));
}

// The functions that every table of a kind must have, in the order of the header. The required size ends after the last
// of them, not at the end of the current table: fields that are appended later are optional.
struct TableShape {
  uint64_t required_size;
  std::vector<std::pair<const char*, size_t>> functions;
};

#define TENON_FUNCTION(table, name) \
  { #name, offsetof(table, name) }

const TableShape& table_shape(uint32_t kind) {
  static const TableShape model{
      TENON_SIZE_TO(tenon_model, forward),
      {TENON_FUNCTION(tenon_model, create), TENON_FUNCTION(tenon_model, destroy), TENON_FUNCTION(tenon_model, ports),
       TENON_FUNCTION(tenon_model, build), TENON_FUNCTION(tenon_model, forward)}};
  static const TableShape dataset{TENON_SIZE_TO(tenon_dataset, get),
                                  {TENON_FUNCTION(tenon_dataset, create), TENON_FUNCTION(tenon_dataset, destroy),
                                   TENON_FUNCTION(tenon_dataset, length), TENON_FUNCTION(tenon_dataset, fields),
                                   TENON_FUNCTION(tenon_dataset, get)}};
  static const TableShape loss{TENON_SIZE_TO(tenon_loss, forward),
                               {TENON_FUNCTION(tenon_loss, create), TENON_FUNCTION(tenon_loss, destroy),
                                TENON_FUNCTION(tenon_loss, ports), TENON_FUNCTION(tenon_loss, forward)}};
  static const TableShape metric{
      TENON_SIZE_TO(tenon_metric, compute),
      {TENON_FUNCTION(tenon_metric, create), TENON_FUNCTION(tenon_metric, destroy), TENON_FUNCTION(tenon_metric, ports),
       TENON_FUNCTION(tenon_metric, states), TENON_FUNCTION(tenon_metric, values), TENON_FUNCTION(tenon_metric, update),
       TENON_FUNCTION(tenon_metric, compute)}};
  static const TableShape callback{
      TENON_SIZE_TO(tenon_callback, on_event),
      {TENON_FUNCTION(tenon_callback, create), TENON_FUNCTION(tenon_callback, destroy),
       TENON_FUNCTION(tenon_callback, subscribe), TENON_FUNCTION(tenon_callback, on_event)}};
  static const TableShape transform{TENON_SIZE_TO(tenon_transform, moved_kinds),
                                    {TENON_FUNCTION(tenon_transform, create), TENON_FUNCTION(tenon_transform, destroy),
                                     TENON_FUNCTION(tenon_transform, apply)}};
  switch (kind) {
    case TENON_DRAFT_TRANSFORM: return transform;
    case TENON_MODEL: return model;
    case TENON_DATASET: return dataset;
    case TENON_LOSS: return loss;
    case TENON_METRIC: return metric;
    default: return callback;
  }
}
#undef TENON_FUNCTION

void check_table(const std::filesystem::path& file, const tenon_component& component, const std::string& what) {
  const TableShape& shape = table_shape(component.kind);
  struct Sized {
    uint64_t size;
  };
  require_size(file, static_cast<const Sized*>(component.table), shape.required_size, "the table of " + what);
  for (const auto& [name, offset] : shape.functions) {
    void* function = nullptr;
    std::memcpy(&function, static_cast<const char*>(component.table) + offset, sizeof function);
    if (!function) refuse(file, "the table of " + what + " has no function " + name + " (it is null)");
  }
  if (component.kind == TENON_DATASET) {
    const auto& dataset = *static_cast<const tenon_dataset*>(component.table);
    if (!dataset.open_worker != !dataset.close_worker)
      refuse(file, "the table of " + what + " has only one of open_worker and close_worker; expected both or neither");
  }
}

ComponentKind to_kind(const std::filesystem::path& file, uint32_t kind, const std::string& what) {
  switch (kind) {
    case TENON_MODEL: return ComponentKind::model;
    case TENON_DATASET: return ComponentKind::dataset;
    case TENON_LOSS: return ComponentKind::loss;
    case TENON_METRIC: return ComponentKind::metric;
    case TENON_CALLBACK: return ComponentKind::callback;
    case TENON_DRAFT_TRANSFORM: return ComponentKind::transform;
    default:
      refuse(file, fmt::format("{} has the kind {}, which this host does not know; expected 1 (model) to 5 (callback)",
                               what, kind));
  }
}

config::ParamType to_param_type(const std::filesystem::path& file, uint32_t type, const std::string& what) {
  switch (type) {
    case TENON_PARAM_BOOL: return config::ParamType::boolean;
    case TENON_PARAM_INT: return config::ParamType::integer;
    case TENON_PARAM_FLOAT: return config::ParamType::floating;
    case TENON_PARAM_STRING: return config::ParamType::string;
    case TENON_PARAM_PATH: return config::ParamType::path;
    case TENON_PARAM_INTS: return config::ParamType::integers;
    case TENON_PARAM_FLOATS: return config::ParamType::floats;
    case TENON_PARAM_STRINGS: return config::ParamType::strings;
    default: refuse(file, what + " has the type " + std::to_string(type) + ", which this host does not know");
  }
}

// The values are written in the entries of a list of transforms, which has no notation for the others.
void check_transform_params(const std::filesystem::path& file, const config::ComponentSchema& schema,
                            const std::string& what) {
  if (schema.id.find('-') != schema.id.npos)
    refuse(file, "the id of " + what + " has a hyphen; expected lower-case letters, digits or _, as in run files");
  for (const config::ParamSchema& param : schema.params)
    if (param.type == config::ParamType::path || param.type == config::ParamType::strings)
      refuse(file, fmt::format("the parameter {} of {} is {}; expected a number, a list of numbers, a boolean or a "
                               "string: the arguments of transforms can be no others",
                               param.name, what, config::to_string(param.type)));
}

config::ParamSchema check_param(const std::filesystem::path& file, const tenon_param* param, const std::string& owner) {
  require_size(file, param, TENON_SIZE_TO(tenon_param, doc), "a parameter of " + owner);
  const std::string name = read_id(file, param->name, "a parameter's name in " + owner);
  const std::string what = "parameter " + name + " of " + owner;
  std::vector<std::string> choices;
  if (param->choice_count > 0 && !param->choices)
    refuse(file, what + " has a count of " + std::to_string(param->choice_count) + " choices, but the list is NULL");
  for (uint64_t i = 0; i < param->choice_count; ++i)
    choices.push_back(read_text(file, param->choices[i], "a choice of " + what));
  try {
    return config::parse_param_schema(name, to_param_type(file, param->type, what),
                                      read_text(file, param->default_value, "the default of " + what),
                                      read_text(file, param->range, "the range of " + what), choices,
                                      read_text(file, param->doc, "the doc of " + what));
  } catch (const std::invalid_argument& error) {
    refuse(file, "the schema of " + owner + ": " + error.what());
  }
}

}  // namespace

std::string describe_abi(uint32_t version) { return fmt::format("{}.{}", version >> 16, version & 0xFFFF); }

std::string Component::describe() const {
  return fmt::format("{} \"{}\" of plugin {} {}", config::to_string(schema.kind), schema.id, plugin->id,
                     plugin->version);
}

uint32_t negotiate_abi(const std::filesystem::path& file, const tenon_reply& reply) {
  const uint32_t chosen = std::min<uint32_t>(reply.abi_max, TENON_ABI_CURRENT);
  if (chosen < reply.abi_min || chosen < TENON_ABI_OLDEST)
    refuse(file,
           fmt::format("speaks the plugin ABI {} to {}; this host speaks {} to {}: rebuild the plugin, or use a host "
                       "that speaks its version",
                       describe_abi(reply.abi_min), describe_abi(reply.abi_max), describe_abi(TENON_ABI_OLDEST),
                       describe_abi(TENON_ABI_CURRENT)));
  return chosen;
}

bool fits_torch_build(const std::string& said, const std::string& torch_build) {
  if (said.empty()) return true;
  const auto minor = [](const std::string& build) { return build.substr(0, build.find('.', build.find('.') + 1)); };
  const auto abi = [](const std::string& build) { return build.substr(std::min(build.find(','), build.size())); };
  return minor(said) == minor(torch_build) && abi(said) == abi(torch_build);
}

void require_torch_build(const std::filesystem::path& file, const std::string& said, const std::string& torch_build) {
  if (fits_torch_build(said, torch_build)) return;
  refuse(file, fmt::format("was built with LibTorch {}; this host has {}: a native plugin needs the minor version that "
                           "it was built with; rebuild it against this host's LibTorch",
                           said, torch_build.empty() ? "none" : torch_build));
}

PluginInfo check_plugin(const std::filesystem::path& file, const tenon_plugin* plugin, const std::string& torch_build) {
  require_size(file, plugin, TENON_SIZE_TO(tenon_plugin, torch_build), "the plugin's descriptor");
  PluginInfo info;
  info.file = file;
  info.id = read_id(file, plugin->id, "the plugin's id");
  info.version = read_text(file, plugin->version, "the plugin's version");
  info.license = read_text(file, plugin->license, "the plugin's license");
  info.doc = read_text(file, plugin->doc, "the plugin's doc");
  info.torch_build = read_text(file, plugin->torch_build, "the plugin's torch_build");
  require_torch_build(file, info.torch_build, torch_build);
  if (plugin->component_count == 0) refuse(file, "has no component");
  if (!plugin->components)
    refuse(file, "has a count of " + std::to_string(plugin->component_count) +
                     " components, but the list is NULL; expected a list of components");
  if (TENON_HAS(plugin, tenon_plugin, operator_count)) {
    if (plugin->operator_count > 0 && !plugin->operators)
      refuse(file, "has a count of " + std::to_string(plugin->operator_count) + " operators, but the list is NULL");
    for (uint64_t i = 0; i < plugin->operator_count; ++i)
      info.operators.push_back(read_text(file, plugin->operators[i], "operator " + std::to_string(i)));
  }
  return info;
}

uint64_t required_table_size(uint32_t kind) { return table_shape(kind).required_size; }

Component check_component(const PluginInfo& plugin, const tenon_component* component) {
  require_size(plugin.file, component, TENON_SIZE_TO(tenon_component, table), "a component's descriptor");
  Component checked;
  checked.plugin = &plugin;
  checked.schema.id = read_id(plugin.file, component->id, "a component's id");
  checked.schema.kind = to_kind(plugin.file, component->kind, "component \"" + checked.schema.id + "\"");
  const std::string what = std::string(config::to_string(checked.schema.kind)) + " \"" + checked.schema.id + "\"";
  checked.schema.doc = read_text(plugin.file, component->doc, "the doc of " + what);
  if (component->param_count > 0 && !component->params)
    refuse(plugin.file,
           what + " has a count of " + std::to_string(component->param_count) + " parameters, but the list is NULL");
  std::set<std::string> names;
  for (uint64_t i = 0; i < component->param_count; ++i) {
    checked.schema.params.push_back(check_param(plugin.file, component->params[i], what));
    if (!names.insert(checked.schema.params.back().name).second)
      refuse(plugin.file, what + " declares the parameter " + checked.schema.params.back().name + " twice");
  }
  if (checked.schema.kind == ComponentKind::transform) check_transform_params(plugin.file, checked.schema, what);
  check_table(plugin.file, *component, what);
  checked.table = component->table;
  checked.get_extension = TENON_HAS(component, tenon_component, get_extension) ? component->get_extension : nullptr;
  return checked;
}

}  // namespace tenon::components
