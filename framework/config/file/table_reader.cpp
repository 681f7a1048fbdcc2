#include "framework/config/file/table_reader.h"

#include <algorithm>

#include "framework/config/file/suggest_names.h"
#include "framework/config/toml/value.h"
#include "framework/config/values/check_value.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::config {
namespace {

ParamSchema schema_of(ParamType type, const char* range = "") {
  return parse_param_schema("key", type, "", range, {}, "");
}

bool is_sha256(const std::string& text) {
  constexpr const char* kDigits = "0123456789abcdefABCDEF";
  return text.size() == 64 && text.find_first_not_of(kDigits) == text.npos;
}

}  // namespace

TableReader::TableReader(const Node& table, std::string path, Diagnostics& diagnostics)
    : TableReader(&table, table.place, std::move(path), diagnostics) {}

TableReader::TableReader(std::vector<RequestedKey>& requested, Diagnostics& diagnostics)
    : TableReader(nullptr, SourceLocation{}, "", diagnostics, &requested) {}

TableReader::TableReader(const Node* table, const SourceLocation& place, std::string path, Diagnostics& diagnostics,
                         std::vector<RequestedKey>* requested, ResumePolicy on_resume)
    : table_(table),
      place_(place),
      path_(std::move(path)),
      diagnostics_(diagnostics),
      requested_(requested),
      on_resume_(on_resume) {
  TENON_CHECK(table == nullptr || table->as_table() != nullptr, path_ << " is not a table");
}

void TableReader::note(const std::string& key, RequestedKey::Form form) {
  if (requested_ != nullptr) requested_->push_back({path_of(key), form, {}, "", on_resume_});
}

const Node::Table& TableReader::entries() const {
  static const Node::Table none;
  return table_ != nullptr ? *table_->as_table() : none;
}

const Node* TableReader::find(const std::string& key) {
  known_.push_back(key);
  const auto entry = entries().find(key);
  return entry != entries().end() ? &entry->second : nullptr;
}

void TableReader::add_mismatch(const std::string& key, const Node& node, const std::string& expected) {
  diagnostics_.add(node.place, "{} is {}; expected {}", path_of(key), describe(node), expected);
}

template <class T, class Read>
KeyDeclaration TableReader::read_with(const std::string& key, Setting<T>& setting, RequestedKey::Form form,
                                      const Read& read_node, const ParamSchema& schema, const std::string& word) {
  if (requested_ != nullptr) requested_->push_back({path_of(key), form, schema, word, on_resume_});
  const Node* const node = find(key);
  setting.place = node != nullptr ? node->place : place_;
  if (node != nullptr) read_node(*node);
  return KeyDeclaration(requested_ != nullptr ? &requested_->back() : nullptr);
}

template <class T>
KeyDeclaration TableReader::read_as(const std::string& key, Setting<T>& setting, const ParamSchema& schema) {
  const auto read_node = [&](const Node& node) {
    if (auto value = check_value(node, schema))
      setting.value = std::get<T>(std::move(*value));
    else
      diagnostics_.add(node.place, "{} is {}", path_of(key), describe_mismatch(node, schema));
  };
  return read_with(key, setting, RequestedKey::Form::value, read_node, schema);
}

KeyDeclaration TableReader::read(const std::string& key, Setting<bool>& setting) {
  return read_as(key, setting, schema_of(ParamType::boolean));
}

KeyDeclaration TableReader::read(const std::string& key, Setting<int64_t>& setting, const char* range) {
  return read_as(key, setting, schema_of(ParamType::integer, range));
}

KeyDeclaration TableReader::read(const std::string& key, Setting<double>& setting, const char* range) {
  return read_as(key, setting, schema_of(ParamType::floating, range));
}

KeyDeclaration TableReader::read(const std::string& key, Setting<std::string>& setting) {
  return read_as(key, setting, schema_of(ParamType::string));
}

KeyDeclaration TableReader::read(const std::string& key, Setting<std::string>& setting,
                                 const std::vector<std::string>& choices) {
  return read_as(key, setting, parse_param_schema("key", ParamType::string, "", "", choices, ""));
}

KeyDeclaration TableReader::read(const std::string& key, Setting<std::vector<std::string>>& setting,
                                 const std::vector<std::string>& choices) {
  return read_as(key, setting, parse_param_schema("key", ParamType::strings, "", "", choices, ""));
}

KeyDeclaration TableReader::read(const std::string& key, Setting<Period>& setting, Fractions fractions) {
  return read_with(key, setting, RequestedKey::Form::period, [&](const Node& node) {
    if (node.as_string() != nullptr) setting.value = parse_period(*node.as_string(), fractions);
    const std::string part = fractions == Fractions::yes ? "\"0.25 epochs\", " : "";
    if (!setting.value)
      add_mismatch(key, node,
                   "a period such as \"1 epoch\", " + part + "\"500 steps\", \"10 minutes\" or \"never\"" +
                       suggest_period(node, fractions));
  });
}

KeyDeclaration TableReader::read(const std::string& key, Setting<Subset>& setting) {
  return read_with(key, setting, RequestedKey::Form::subset, [&](const Node& node) {
    if (node.as_string() != nullptr) setting.value = parse_subset(*node.as_string());
    if (!setting.value)
      add_mismatch(key, node, "a part of the samples such as \"80%\" or \"80%-100%\"" + suggest_subset(node));
  });
}

KeyDeclaration TableReader::read(const std::string& key, Setting<DeviceChoice>& setting) {
  return read_with(key, setting, RequestedKey::Form::device, [&](const Node& node) {
    if (node.as_string() != nullptr) setting.value = parse_device_choice(*node.as_string());
    if (!setting.value)
      add_mismatch(key, node,
                   "\"auto\", \"cpu\", \"cuda\" or a device index such as \"cuda:1\"" + suggest_device(node));
  });
}

KeyDeclaration TableReader::read_or_auto(const std::string& key, Setting<int64_t>& setting, const char* range,
                                         int64_t automatic) {
  const ParamSchema schema = schema_of(ParamType::integer, range);
  const auto read_node = [&](const Node& node) {
    if (node.as_string() != nullptr && *node.as_string() == "auto")
      setting.value = automatic;
    else if (const auto value = check_value(node, schema))
      setting.value = std::get<int64_t>(*value);
    else
      add_mismatch(key, node, describe_expected(schema) + " or \"auto\"" + suggest_value(node, schema));
  };
  return read_with(key, setting, RequestedKey::Form::value_or_word, read_node, schema, "auto");
}

KeyDeclaration TableReader::read_flag_or(const std::string& key, Setting<std::string>& setting,
                                         const std::string& word) {
  const ParamSchema schema = schema_of(ParamType::boolean);
  const auto read_node = [&](const Node& node) {
    if (node.as_string() != nullptr && *node.as_string() == word)
      setting.value = word;
    else if (const auto value = check_value(node, schema))
      setting.value = std::get<bool>(*value) ? "true" : "false";
    else
      add_mismatch(key, node, "true, false or " + to_toml(word) + suggest_value(node, schema));
  };
  return read_with(key, setting, RequestedKey::Form::value_or_word, read_node, schema, word);
}

KeyDeclaration TableReader::read_digest(const std::string& key, Setting<std::string>& setting) {
  return read_with(key, setting, RequestedKey::Form::digest, [&](const Node& node) {
    if (key.empty() || key.find('/') != key.npos)
      diagnostics_.add(node.key_place, "{} has the key {}; expected a file name without folders, such as \"name.so\"",
                       path_, to_toml(key));
    else if (node.as_table() != nullptr)
      // Without quotes, the dot in the file name splits it into two keys.
      diagnostics_.add(node.key_place, "{} is a table; expected a file name in quotes and its SHA-256: {} = \"...\"",
                       path_of(key), to_toml(key + ".so"));
    else if (node.as_string() == nullptr || !is_sha256(*node.as_string()))
      add_mismatch(key, node, "a SHA-256 digest of 64 hexadecimal digits, as printed by sha256sum");
    else
      setting.value = formats::to_lower(*node.as_string());
  });
}

TableReader TableReader::table(const std::string& key) {
  note(key, RequestedKey::Form::table);
  const Node* node = find(key);
  if (node != nullptr && node->as_table() == nullptr)
    add_mismatch(key, *node, "a table" + suggest_table(path_of(key), *node));
  const bool is_table = node != nullptr && node->as_table() != nullptr;
  const SourceLocation& place = node != nullptr ? node->place : place_;
  return {is_table ? node : nullptr, place, path_of(key), diagnostics_, requested_, on_resume_};
}

std::vector<TableReader> TableReader::tables(const std::string& key) {
  note(key, RequestedKey::Form::tables);
  if (requested_ != nullptr)
    return {TableReader(nullptr, place_, path_of(key + "[]"), diagnostics_, requested_, on_resume_)};
  const Node* node = find(key);
  if (node == nullptr) return {};
  std::vector<TableReader> readers;
  const std::string expected = "a list of tables, each with the header [[" + path_of(key) + "]]";
  if (node->as_array() == nullptr) {
    add_mismatch(key, *node, expected);
    return {};
  }
  for (const Node& element : *node->as_array()) {
    const std::string indexed = fmt::format("{}.{}", key, &element - node->as_array()->data());
    if (element.as_table() != nullptr)
      readers.emplace_back(element, path_of(indexed), diagnostics_);
    else
      add_mismatch(indexed, element, expected);
  }
  return readers;
}

Node::Table TableReader::take_rest() {
  if (requested_ != nullptr) requested_->push_back({path_, RequestedKey::Form::rest, {}, "", on_resume_});
  Node::Table rest;
  for (const auto& [key, node] : entries())
    if (std::ranges::find(known_, key) == known_.end()) rest.emplace(key, node);
  for (const auto& [key, node] : rest) known_.push_back(key);
  return rest;
}

void TableReader::reject_unknown_keys() const {
  for (const auto& [key, node] : entries()) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    diagnostics_.add(node.key_place, "{} is not a key of {}{}", path_of(key), path_.empty() ? "the run file" : path_,
                     suggest_key(path_, key, known_));
  }
}

std::vector<std::string> TableReader::keys() const {
  if (requested_ != nullptr) return {"*"};
  std::vector<std::string> keys;
  for (const auto& [key, node] : entries()) keys.push_back(key);
  std::ranges::stable_sort(keys, [this](const std::string& left, const std::string& right) {
    return entries().at(left).key_place < entries().at(right).key_place;
  });
  return keys;
}

}  // namespace tenon::config
