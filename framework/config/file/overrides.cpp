#include "framework/config/file/overrides.h"

#include <optional>

#include "framework/config/file/extended_file.h"
#include "framework/config/toml/repair_line.h"
#include "framework/config/toml/toml_tree.h"
#include "framework/config/toml/value.h"
#include "framework/formats/strings.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/printable.h"

namespace tenon::config {
namespace {

constexpr const char* kHowToWrite =
    "write --set table.key=value, such as --set train.epochs=3 or --set loss.0.weight=2";

// Returns "loss.0.weight" for "loss[0].weight".
std::string write_index_as_part(std::string key) {
  for (size_t open; (open = key.find('[')) != key.npos && key.find(']', open) != key.npos;) {
    key.erase(key.find(']', open), 1);
    key[open] = '.';
  }
  return key;
}

std::string without_blanks(const std::string& text) { return std::string(strip_blanks(text)); }

// None if a part is empty.
std::optional<std::vector<std::string>> split_key(const std::string& key) {
  std::vector<std::string> parts(1);
  for (const char letter : key)
    if (letter == '.')
      parts.emplace_back();
    else
      parts.back() += letter;
  for (const std::string& part : parts)
    if (part.empty() || part.find_first_of(" \t\n\"'[]{}") != part.npos) return std::nullopt;
  return parts;
}

std::optional<Node> parse_value(const std::string& text, const SourceLocation& place) {
  if (auto node = parse_toml_value(text, place)) return node;
  const bool is_broken_toml = text.empty() || std::string("\"'[{").find(text[0]) != std::string::npos;
  if (is_broken_toml) return std::nullopt;
  return Node{text, place, place, to_toml(text)};
}

std::optional<size_t> parse_index(const std::string& text) { return formats::parse_number<size_t>(text); }

// Returns the child that the part names and creates it if missing. Null if the node cannot have such a child.
Node* enter(Node& node, const std::string& part, const SourceLocation& place) {
  if (Node::Table* table = node.as_table()) {
    Node& child = (*table)[part];
    if (child.place.source.empty()) child.key_place = place;
    return &child;
  }
  Node::Array* array = node.as_array();
  const auto index = parse_index(part);
  if (array == nullptr || !index || *index > array->size()) return nullptr;
  if (*index == array->size()) array->emplace_back();
  return &(*array)[*index];
}

// Turns a node that enter() has just created into the list or table that the next part of the key needs.
void make_enterable(Node& node, const std::string& next, const SourceLocation& place) {
  if (!node.place.source.empty()) return;
  node.place = place;
  if (parse_index(next))
    node.value = Node::Array();
  else
    node.value = Node::Table();
}

// Returns "0.weight" for "weight", and "1.weight" for "cross_entropy.weight" if the second element has this id or name.
std::string add_index(const Node::Array& array, const std::string& rest) {
  const std::string first = rest.substr(0, rest.find('.'));
  for (const Node& element : array)
    for (const char* key : {"use", "name"})
      if (const Node::Table* table = element.as_table(); table != nullptr && table->contains(key))
        if (const std::string* text = table->at(key).as_string(); text != nullptr && *text == first)
          return std::to_string(&element - array.data()) + rest.substr(first.size());
  return "0." + rest;
}

// `rest`: the parts of the key from `part` on.
std::string describe_dead_end(const Node& node, const std::string& path, const std::string& part,
                              const std::string& rest) {
  if (const Node::Array* array = node.as_array()) {
    const std::string count = support::format_count(std::ssize(*array), "element");
    const std::string expected = fmt::format("expected an index from 0 to {}", array->size());
    if (!parse_index(part))
      return fmt::format("{0} is a list with {1}; {2}: write {0}.{3}", path, count, expected, add_index(*array, rest));
    return fmt::format("{} has {}, but the index is \"{}\"; {}", path, count, part, expected);
  }
  return fmt::format("{} is {}, which has no key \"{}\"; expected a table", path, describe(node), part);
}

// What is wrong with a text that is no key and value.
std::string describe_no_setting(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string key = without_blanks(text.substr(0, equals));
  if (equals == text.npos && split_key(key)) return "has no value; write --set " + key + "=VALUE";
  const std::string dotted = write_index_as_part(key);
  if (equals != text.npos && dotted != key && split_key(dotted))
    return "has an index in brackets; write --set " + dotted + text.substr(equals);
  return fmt::format("not a key and a value; {}", kHowToWrite);
}

// Suggests closing brackets and quotes.
std::string describe_no_value(const std::string& key, const std::string& text) {
  const std::string message = key + " is `" + text + "`, which is not a TOML value; ";
  const std::string before = "value = ";
  for (const Repair& repair : list_repairs(before + text, before.size())) {
    if (!repair.line.starts_with(before)) continue;
    const std::string value = repair.line.substr(before.size());
    if (parse_toml_value(value, {})) return fmt::format("{}{}: write --set '{}={}'", message, repair.found, key, value);
  }
  return message + kHowToWrite;
}

}  // namespace

void apply_override(const std::string& text, Node& document, Diagnostics& diagnostics) {
  const size_t equals = text.find('=');
  const std::string key = without_blanks(text.substr(0, equals));
  if (!support::is_utf8(text))
    return diagnostics.add({"--set " + key}, "is not UTF-8; expected UTF-8, as in a run file");
  const auto parts = equals != text.npos ? split_key(key) : std::nullopt;
  if (!parts) return diagnostics.add({"--set " + text}, describe_no_setting(text));
  const SourceLocation place{"--set " + key};
  if (key == "extends")
    return diagnostics.add(place, "extends is applied only in a run file; write it into the file, or set its keys");
  if (parts->size() > kMostKeyParts) return diagnostics.add(place, describe_key_excess());
  const std::string written = without_blanks(text.substr(equals + 1));
  auto value = parse_value(written, place);
  if (!value) return diagnostics.add(place, describe_no_value(key, written));
  Node* node = &document;
  std::string path;
  for (const std::string& part : *parts) {
    if (node != &document) make_enterable(*node, part, place);
    Node* child = enter(*node, part, place);
    if (child == nullptr)
      return diagnostics.add(place,
                             describe_dead_end(*node, path, part, key.substr(path.empty() ? 0 : path.size() + 1)));
    path += (path.empty() ? "" : ".") + part;
    node = child;
  }
  value->key_place = node->key_place.source.empty() ? place : node->key_place;
  *node = std::move(*value);
  drop_excluded_key(document, key);
}

}  // namespace tenon::config
