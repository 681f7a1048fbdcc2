#include "framework/config/file/overrides.h"

#include <charconv>
#include <optional>

#include "framework/config/file/exclusive_keys.h"
#include "framework/config/toml/toml_limits.h"
#include "framework/config/toml/value.h"

namespace tenon::config {
namespace {

constexpr const char* kHowToWrite =
    "write --set table.key=value, such as --set train.epochs=3 or --set loss.0.weight=2";

// None if a part is empty.
std::optional<std::vector<std::string>> split_key(const std::string& key) {
  std::vector<std::string> parts(1);
  for (const char letter : key) {
    if (letter == '.') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  for (const std::string& part : parts) {
    if (part.empty() || part.find_first_of(" \t\n\"'[]{}") != part.npos) return std::nullopt;
  }
  return parts;
}

std::optional<Node> parse_value(const std::string& text, const SourceLocation& place) {
  if (auto node = parse_toml_value(text, place)) return node;
  const bool is_broken_toml = text.empty() || std::string("\"'[{").find(text[0]) != std::string::npos;
  if (is_broken_toml) return std::nullopt;
  Node word;
  word.value = text;
  word.text = to_toml(text);
  word.place = place;
  word.key_place = place;
  return word;
}

std::optional<size_t> parse_index(const std::string& text) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(index) : std::nullopt;
}

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
  if (parse_index(next)) {
    node.value = Node::Array();
  } else {
    node.value = Node::Table();
  }
}

std::string describe_dead_end(const Node& node, const std::string& path, const std::string& part) {
  if (const Node::Array* array = node.as_array()) {
    return path + " has " + std::to_string(array->size()) + " elements, but the index is \"" + part +
           "\"; expected an index from 0 to " + std::to_string(array->size());
  }
  return path + " is " + describe(node) + ", which has no key \"" + part + "\"; expected a table";
}

}  // namespace

void apply_override(const std::string& text, Node& document, Diagnostics& diagnostics) {
  const size_t equals = text.find('=');
  const auto parts = equals != text.npos ? split_key(text.substr(0, equals)) : std::nullopt;
  if (!parts) return diagnostics.add({"--set " + text}, std::string("not a key and a value; ") + kHowToWrite);
  const std::string key = text.substr(0, equals);
  const SourceLocation place{"--set " + key};
  if (key == "extends")
    return diagnostics.add(place, "extends is applied only in a run file; write it into the file, or set its keys");
  if (parts->size() > kMostKeyParts) return diagnostics.add(place, describe_key_excess());
  auto value = parse_value(text.substr(equals + 1), place);
  if (!value) {
    return diagnostics.add(place,
                           key + " is `" + text.substr(equals + 1) + "`, which is not a TOML value; " + kHowToWrite);
  }
  Node* node = &document;
  std::string path;
  for (const std::string& part : *parts) {
    if (node != &document) make_enterable(*node, part, place);
    Node* child = enter(*node, part, place);
    if (child == nullptr) return diagnostics.add(place, describe_dead_end(*node, path, part));
    path += (path.empty() ? "" : ".") + part;
    node = child;
  }
  value->key_place = node->key_place.source.empty() ? place : node->key_place;
  *node = std::move(*value);
  drop_excluded_key(document, key);
}

}  // namespace tenon::config
