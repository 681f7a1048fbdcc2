#include "framework/config/toml_tree.h"

#include <toml++/toml.h>

#include <string_view>

#include "framework/support/error.h"

namespace tenon::config {
namespace {

// Copies a document of toml++ and keeps the source text of each value.
class Copier {
 public:
  Copier(std::string_view text, const std::string& source) : source_(source) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
  }

  Node copy(const toml::node& from) const {
    Node node;
    node.place = place_at(from.source().begin);
    from.visit([&](const auto& held) { node.value = copy_value(held); });
    if (!from.is_table()) node.text = text_of(from.source());
    return node;
  }

 private:
  using NodeValue = decltype(Node::value);

  static NodeValue copy_value(const toml::value<bool>& from) { return from.get(); }
  static NodeValue copy_value(const toml::value<int64_t>& from) { return from.get(); }
  static NodeValue copy_value(const toml::value<double>& from) { return from.get(); }
  static NodeValue copy_value(const toml::value<std::string>& from) { return from.get(); }
  static NodeValue copy_value(const toml::value<toml::date>&) { return Date{}; }
  static NodeValue copy_value(const toml::value<toml::time>&) { return Date{}; }
  static NodeValue copy_value(const toml::value<toml::date_time>&) { return Date{}; }
  NodeValue copy_value(const toml::array& from) const {
    Node::Array array;
    for (const toml::node& element : from) array.push_back(copy(element));
    return array;
  }
  NodeValue copy_value(const toml::table& from) const {
    Node::Table table;
    for (const auto& [key, value] : from) {
      Node& node = table[std::string(key.str())] = copy(value);
      node.key_place = place_at(key.source().begin);
    }
    return table;
  }

  SourceLocation place_at(const toml::source_position& position) const {
    return {source_, static_cast<int>(position.line), static_cast<int>(position.column)};
  }

  // Columns count characters, not bytes.
  static size_t byte_offset(std::string_view line, toml::source_index column) {
    size_t offset = 0;
    for (toml::source_index at = 1; at < column && offset < line.size(); ++at) {
      do ++offset;
      while (offset < line.size() && (static_cast<unsigned char>(line[offset]) & 0xC0) == 0x80);
    }
    return offset;
  }

  // A value of several lines is cut after the first line.
  std::string text_of(const toml::source_region& region) const {
    if (region.begin.line < 1 || region.begin.line > lines_.size()) return "";
    const std::string_view line = lines_[region.begin.line - 1];
    const size_t begin = byte_offset(line, region.begin.column);
    if (region.end.line != region.begin.line) return std::string(line.substr(begin)) + " ...";
    return std::string(line.substr(begin, byte_offset(line, region.end.column) - begin));
  }

  std::string source_;
  std::vector<std::string_view> lines_;
};

void set_place(Node& node, const SourceLocation& place) {
  node.place = place;
  node.key_place = place;
  if (Node::Array* array = node.as_array()) {
    for (Node& element : *array) set_place(element, place);
  } else if (Node::Table* table = node.as_table()) {
    for (auto& [key, value] : *table) set_place(value, place);
  }
}

// No function of the system reads a path or a name beyond a NUL character.
void refuse_nul(const Node& node) {
  const auto refuse = [](const SourceLocation& place, const std::string& what) {
    throw support::Error(support::ErrorKind::configuration,
                         to_string(place) + ": " + what + " contains a NUL character; remove it");
  };
  if (const auto* text = std::get_if<std::string>(&node.value); text && text->find('\0') != std::string::npos)
    refuse(node.place, node.text);
  if (const Node::Array* array = node.as_array())
    for (const Node& element : *array) refuse_nul(element);
  if (const Node::Table* table = node.as_table())
    for (const auto& [key, value] : *table) {
      if (key.find('\0') != std::string::npos) refuse(value.key_place, "a key");
      refuse_nul(value);
    }
}

Node parse_document(const std::string& text, const std::string& source) try {
  return Copier(text, source).copy(toml::parse(text));
} catch (const toml::parse_error& error) {
  const toml::source_position at = error.source().begin;
  const SourceLocation place{source, static_cast<int>(at.line), static_cast<int>(at.column)};
  throw support::Error(support::ErrorKind::configuration,
                       to_string(place) + ": invalid TOML: " + std::string(error.description()));
}

}  // namespace

std::string describe(const Node& node) {
  if (node.as_table() != nullptr) return "a table";
  const Node::Array* array = node.as_array();
  if (array != nullptr && !array->empty() && array->front().as_table() != nullptr) return "a list of tables";
  return node.text;
}

Node parse_toml(const std::string& text, const std::string& source) {
  Node document = parse_document(text, source);
  refuse_nul(document);
  return document;
}

std::optional<Node> parse_toml_value(const std::string& text, const SourceLocation& place) {
  Node document;
  try {
    document = parse_document("value = " + text, "");
  } catch (const support::Error&) {
    return std::nullopt;
  }
  Node::Table& table = *document.as_table();
  if (table.size() != 1) return std::nullopt;  // a line break and further keys
  Node node = std::move(table.begin()->second);
  set_place(node, place);
  refuse_nul(node);
  return node;
}

}  // namespace tenon::config
