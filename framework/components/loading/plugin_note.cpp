#include "framework/components/loading/plugin_note.h"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "framework/components/loading/elf_image.h"
#include "framework/formats/json_depth.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::components {
namespace {

namespace fs = std::filesystem;
using config::ComponentKind;
using config::ComponentSchema;
using config::ParamSchema;
using config::ParamType;
using Json = nlohmann::ordered_json;  // prints the keys in this order
// Reads notes. Adding a key to an object of ordered_json visits all its keys.
using NoteJson = nlohmann::json;
using support::Error;
using support::ErrorKind;

constexpr uint64_t kFormat = 1;
// The choices of a parameter are at depth six. Later hosts may add slightly deeper values.
constexpr int kDeepest = 8;

constexpr ComponentKind kKinds[] = {ComponentKind::model,  ComponentKind::dataset,  ComponentKind::loss,
                                    ComponentKind::metric, ComponentKind::callback, ComponentKind::transform};

// The names of types in notes, which never change. Messages use config::to_string.
constexpr std::pair<const char*, ParamType> kTypes[] = {
    {"bool", ParamType::boolean},  {"int", ParamType::integer},    {"float", ParamType::floating},
    {"string", ParamType::string}, {"path", ParamType::path},      {"ints", ParamType::integers},
    {"floats", ParamType::floats}, {"strings", ParamType::strings}};

const char* name_of(ParamType type) {
  for (const auto& [name, known] : kTypes)
    if (known == type) return name;
  throw std::invalid_argument("a parameter has no type");
}

Json to_json(const ParamSchema& param) {
  return {{"name", param.name},
          {"type", name_of(param.type)},
          {"default", param.default_value ? config::to_toml(*param.default_value) : ""},
          {"range", param.range_text},
          {"choices", param.choices},
          {"doc", param.doc}};
}

Json to_json(const ComponentSchema& component) {
  Json params = Json::array();
  for (const ParamSchema& param : component.params) params.push_back(to_json(param));
  return {{"kind", config::to_string(component.kind)},
          {"id", component.id},
          {"doc", component.doc},
          {"parameters", params}};
}

Json to_json(const PluginDescription& plugin) {
  Json components = Json::array();
  for (const ComponentSchema& component : plugin.components) components.push_back(to_json(component));
  return {{"format", kFormat},
          {"id", plugin.id},
          {"version", plugin.version},
          {"license", plugin.license},
          {"doc", plugin.doc},
          {"torch_build", plugin.torch_build},
          {"operators", plugin.operators},
          {"abi_min", plugin.abi_min},
          {"abi_max", plugin.abi_max},
          {"components", components}};
}

// ---- Reading: `place` is a location such as "components[2].id". Errors are std::invalid_argument. ----

[[noreturn]] void refuse_note(const std::string& place, const std::string& found) {
  throw std::invalid_argument(place + " " + found);
}

const NoteJson& take(const NoteJson& table, const char* key, const std::string& place) {
  const auto found = table.find(key);
  if (found == table.end()) refuse_note(place + key, "is missing");
  return *found;
}

const NoteJson& take_list(const NoteJson& table, const char* key, const std::string& place) {
  const NoteJson& list = take(table, key, place);
  if (!list.is_array()) refuse_note(place + key, "is not a list");
  return list;
}

std::string check_text(const NoteJson& value, const std::string& place) {
  if (!value.is_string()) refuse_note(place, "is not a string");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kMaxTextLength) refuse_note(place, "has " + std::to_string(text.size()) + " bytes");
  if (const auto control = find_control_character(text)) refuse_note(place, "holds the control character " + *control);
  return text;
}

std::string take_text(const NoteJson& table, const char* key, const std::string& place) {
  return check_text(take(table, key, place), place + key);
}

std::vector<std::string> take_texts(const NoteJson& table, const char* key, const std::string& place) {
  std::vector<std::string> texts;
  for (const NoteJson& text : take_list(table, key, place)) texts.push_back(check_text(text, place + key));
  return texts;
}

std::string take_id(const NoteJson& table, const std::string& place) {
  const std::string id = take_text(table, "id", place);
  if (!is_id(id)) refuse_note(place + "id", "is \"" + id + "\", which is not a valid id");
  return id;
}

uint32_t take_abi(const NoteJson& table, const char* key) {
  const NoteJson& value = take(table, key, "");
  if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) refuse_note(key, "is not an ABI version");
  return value.get<uint32_t>();
}

ComponentKind take_kind(const NoteJson& table, const std::string& place) {
  const std::string name = take_text(table, "kind", place);
  for (const ComponentKind kind : kKinds)
    if (name == config::to_string(kind)) return kind;
  refuse_note(place + "kind", "is \"" + name + "\", which this host does not know");
}

ParamType take_type(const NoteJson& table, const std::string& place) {
  const std::string name = take_text(table, "type", place);
  for (const auto& [known, type] : kTypes)
    if (name == known) return type;
  refuse_note(place + "type", "is \"" + name + "\", which this host does not know");
}

ParamSchema to_param(const NoteJson& table, const std::string& place) {
  if (!table.is_object()) refuse_note(place, "is not an object");
  const std::string inside = place + ".";
  const std::string name = take_text(table, "name", inside);
  const ParamType type = take_type(table, inside);
  const std::string default_toml = take_text(table, "default", inside);
  const std::string range = take_text(table, "range", inside);
  const std::vector<std::string> choices = take_texts(table, "choices", inside);
  const std::string doc = take_text(table, "doc", inside);
  try {
    return config::parse_param_schema(name, type, default_toml, range, choices, doc);
  } catch (const std::invalid_argument& error) {
    refuse_note(place + ":", error.what());
  }
}

ComponentSchema to_component(const NoteJson& table, const std::string& place) {
  if (!table.is_object()) refuse_note(place, "is not an object");
  const std::string inside = place + ".";
  ComponentSchema component{take_kind(table, inside), take_id(table, inside), take_text(table, "doc", inside), {}};
  std::set<std::string> names;
  for (const NoteJson& param : take_list(table, "parameters", inside)) {
    const std::string where = inside + "parameters[" + std::to_string(component.params.size()) + "]";
    component.params.push_back(to_param(param, where));
    if (!names.insert(component.params.back().name).second) refuse_note(where + ".name", "occurs twice");
  }
  return component;
}

std::optional<PluginDescription> to_description(const NoteJson& note) {
  if (!note.is_object()) refuse_note("it", "is not an object");
  const NoteJson& format = take(note, "format", "");
  if (!format.is_number_unsigned() || format.get<uint64_t>() == 0) refuse_note("format", "is not a number above 0");
  if (format.get<uint64_t>() > kFormat) return std::nullopt;
  PluginDescription plugin;
  plugin.id = take_id(note, "");
  plugin.version = take_text(note, "version", "");
  plugin.license = take_text(note, "license", "");
  plugin.doc = take_text(note, "doc", "");
  plugin.torch_build = take_text(note, "torch_build", "");
  plugin.operators = take_texts(note, "operators", "");
  plugin.abi_min = take_abi(note, "abi_min");
  plugin.abi_max = take_abi(note, "abi_max");
  std::set<config::ComponentName> seen;
  for (const NoteJson& component : take_list(note, "components", "")) {
    const std::string place = "components[" + std::to_string(plugin.components.size()) + "]";
    plugin.components.push_back(to_component(component, place));
    if (!seen.insert({plugin.components.back().kind, plugin.components.back().id}).second)
      refuse_note(place + ".id", "occurs twice");
  }
  if (plugin.components.empty()) refuse_note("components", "is empty");
  return plugin;
}

std::optional<PluginDescription> parse(const std::string& note) {
  if (note.size() > kLargestNote)
    throw std::invalid_argument(fmt::format("it has {} bytes; expected at most {} bytes", note.size(), kLargestNote));
  if (formats::is_nested_deeper(note, kDeepest)) throw std::invalid_argument("it nests deeper than a description does");
  try {
    return to_description(NoteJson::parse(note));
  } catch (const NoteJson::exception& error) {
    throw std::invalid_argument(std::string("it is not JSON: ") + error.what());
  }
}

// The first location where the two differ. For an additional element of a list, this is the index after the last one.
Json::json_pointer find_difference(const Json& note, const Json& plugin) {
  const Json changes = Json::diff(note, plugin);
  if (changes.empty()) return Json::json_pointer();
  const Json::json_pointer place(changes[0]["path"].get<std::string>());
  if (place.empty() || place.back() != "-") return place;
  return place.parent_pointer() / note[place.parent_pointer()].size();
}

// "components.digits.parameters.path.default": elements are identified by their id or name if they have one.
std::string name_place(const Json& note, const Json& plugin, Json::json_pointer place) {
  std::string text;
  for (; !place.empty(); place.pop_back()) {
    const Json& document = note.contains(place) ? note : plugin;
    const Json& value = document[place];
    std::string name = place.back();
    for (const char* key : {"id", "name"})
      if (value.is_object() && value.contains(key)) name = value[key].get<std::string>();
    text = name + (text.empty() ? "" : "." + text);
  }
  return text;
}

std::string show(const Json& document, const Json::json_pointer& place) {
  constexpr size_t kMaxCount = 200;
  if (!document.contains(place)) return "nothing";
  // ASCII can be cut at any byte.
  const std::string text = document[place].dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= kMaxCount ? text : text.substr(0, kMaxCount) + "...";
}

}  // namespace

std::string make_note(const PluginDescription& description) {
  std::string note;
  try {
    note = to_json(description).dump();
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("a text is not UTF-8: ") + error.what());
  }
  if (parse(note) != description) throw std::invalid_argument("it does not read back as it was written");
  return note;
}

std::optional<PluginDescription> parse_note(const fs::path& file, const std::string& note) {
  try {
    return parse(note);
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorKind::plugin,
                "{0}: its note is damaged: {1}; expected what `host note {0}` writes: build "
                "the plugin again, or run that if you trust the file",
                file.string(), error.what());
  }
}

void require_same(const fs::path& file, const PluginDescription& note, const PluginDescription& plugin) {
  if (note == plugin) return;
  const Json said = to_json(note);
  const Json is = to_json(plugin);
  const Json::json_pointer place = find_difference(said, is);
  throw Error(ErrorKind::plugin,
              "{0}: its note does not match it: {1}: the note says {2}, the plugin says {3}; expected the same: "
              "build it again, or rewrite the note with `host note {0}`",
              file.string(), name_place(said, is, place), show(said, place), show(is, place));
}

bool is_id(std::string_view text) {
  const auto is_lower = [](char letter) { return letter >= 'a' && letter <= 'z'; };
  const auto fits = [&](char letter) {
    return is_lower(letter) || (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
  };
  return !text.empty() && is_lower(text[0]) && std::all_of(text.begin(), text.end(), fits);
}

std::optional<std::string> find_control_character(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = static_cast<unsigned char>(text[i]);
    if (code == 0xC2 && i + 1 < text.size())
      code = static_cast<unsigned char>(text[i + 1]);  // two bytes: U+0080 and above
    else if (code >= 0x80)
      continue;
    const bool is_control = code < 0x20 ? code != '\n' && code != '\t' : code >= 0x7F && code < 0xA0;
    if (is_control) return fmt::format("U+{:04X}", code);
  }
  return std::nullopt;
}

}  // namespace tenon::components
