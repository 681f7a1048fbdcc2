#include "framework/config/toml/toml_tree.h"

#include <toml++/toml.h>
#include <algorithm>
#include <string_view>

#include "framework/config/toml/explain_toml_error.h"
#include "framework/formats/unicode.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::config {
namespace {

// Copies a document of toml++ and keeps the source text of each value.
class Copier {
 public:
  // Indexes the text once, so that text_of() does not search: a line may hold any number of values.
  Copier(std::string_view text, const std::string& source) : text_(text), source_(source) {
    lines_.push_back(0);
    for (size_t at = 0; at < text.size(); ++at) {
      if (formats::is_continuation(text[at])) continue;
      characters_.push_back(static_cast<uint32_t>(at));
      if (text[at] == '\n') lines_.push_back(characters_.size());
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

  template <class T>
  static NodeValue copy_value(const toml::value<T>& from) {
    return from.get();
  }
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

  // Returns the offset of a byte. Columns count characters. The end of a line is its last column.
  size_t offset_of(const toml::source_position& at) const {
    const size_t next_line = at.line < lines_.size() ? lines_[at.line] - 1 : characters_.size();
    const size_t character = std::min(lines_[at.line - 1] + std::max<size_t>(at.column, 1) - 1, next_line);
    return character < characters_.size() ? characters_[character] : text_.size();
  }

  // A value of several lines is cut after the first line.
  std::string text_of(const toml::source_region& region) const {
    if (region.begin.line < 1 || region.begin.line > lines_.size()) return "";
    const size_t begin = offset_of(region.begin);
    const bool is_one_line = region.end.line == region.begin.line;
    const size_t end = is_one_line ? offset_of(region.end) : std::min(text_.find('\n', begin), text_.size());
    return std::string(text_.substr(begin, end - begin)) + (is_one_line ? "" : " ...");
  }

  std::string_view text_;
  std::string source_;
  std::vector<uint32_t> characters_;  // offset of each character
  std::vector<size_t> lines_;         // index of the first character of each line
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

[[noreturn]] void refuse(const SourceLocation& place, const std::string& what) {
  throw support::Error(support::ErrorKind::configuration, "{}: {}", to_string(place), what);
}

// No function of the system reads a path or a name beyond a NUL character.
void refuse_nul(const Node& node) {
  const std::string found = " contains a NUL character; remove it";
  if (const auto* text = std::get_if<std::string>(&node.value); text && text->find('\0') != std::string::npos)
    refuse(node.place, node.text + found);
  if (const Node::Array* array = node.as_array())
    for (const Node& element : *array) refuse_nul(element);
  if (const Node::Table* table = node.as_table())
    for (const auto& [key, value] : *table) {
      if (key.find('\0') != std::string::npos) refuse(value.key_place, "a key" + found);
      refuse_nul(value);
    }
}

TomlError to_error(const toml::parse_error& error) {
  const toml::source_position at = error.source().begin;
  return {static_cast<int>(at.line), static_cast<int>(at.column), std::string(error.description())};
}

// A text within the limits: a repaired line may be outside them.
std::optional<TomlError> find_error(const std::string& text) try {
  if (const auto excess = find_toml_excess(text)) return TomlError{excess->line, excess->column, excess->what};
  (void)toml::parse(text);
  return std::nullopt;
} catch (const toml::parse_error& error) {
  return to_error(error);
}

class LimitScanner {
 public:
  explicit LimitScanner(std::string_view text) : text_(text) {}

  std::optional<TomlExcess> scan() {
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '#') {
        skip_comment();
      } else if (letter == '"' || letter == '\'') {
        skip_string(letter);
      } else {
        count(letter);
        step();
        if (dots_ >= kMostKeyParts) return excess(describe_key_excess());
        if (depth_ > kMostNesting)
          return excess(fmt::format(
              "lists and tables are nested more than {0} deep; expected at most {0}; remove brackets", kMostNesting));
      }
    }
    return std::nullopt;
  }

 private:
  // A number has a dot too, but only one.
  void count(char letter) {
    if (letter == '.') return void(++dots_);
    if (letter == '[' || letter == '{') ++depth_;
    if ((letter == ']' || letter == '}') && depth_ > 0) --depth_;
    if (std::string_view("[]{}=,\n").find(letter) != std::string_view::npos) dots_ = 0;
  }

  void step() {
    const char letter = text_[at_++];
    if (letter == '\n') {
      ++line_;
      column_ = 1;
    } else if (!formats::is_continuation(letter)) {
      ++column_;
    }
  }

  void step(size_t letters) {
    while (letters-- > 0 && at_ < text_.size()) step();
  }

  bool is_at(char letter, size_t times) const {
    const std::string_view next = text_.substr(at_, times);
    return next.size() == times && next.find_first_not_of(letter) == std::string_view::npos;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') step();
  }

  void skip_string(char quote) {
    const bool has_escapes = quote == '"';
    const bool has_lines = is_at(quote, 3);
    step(has_lines ? 3 : 1);
    while (at_ < text_.size() && !is_at(quote, has_lines ? 3 : 1)) {
      if (!has_lines && text_[at_] == '\n') return;  // not TOML
      step(has_escapes && text_[at_] == '\\' ? 2 : 1);
    }
    step(has_lines ? 3 : 1);
    // Up to two quotes before the closing ones belong to the string.
    for (int more = 0; has_lines && more < 2 && is_at(quote, 1); ++more) step();
  }

  TomlExcess excess(std::string what) const { return {line_, column_ - 1, std::move(what)}; }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  size_t dots_ = 0;  // since the last character that cannot be part of a key
  size_t depth_ = 0;
};

}  // namespace

std::string describe(const Node& node) {
  if (node.as_table() != nullptr) return "a table";
  const Node::Array* array = node.as_array();
  if (array != nullptr && !array->empty() && array->front().as_table() != nullptr) return "a list of tables";
  return node.text;
}

Node parse_toml(const std::string& text, const std::string& source) {
  if (const auto excess = find_toml_excess(text)) refuse({source, excess->line, excess->column}, excess->what);
  try {
    Node document = Copier(text, source).copy(toml::parse(text));
    refuse_nul(document);
    return document;
  } catch (const toml::parse_error& found) {
    const TomlError error = explain_toml_error(text, to_error(found), find_error);
    refuse({source, error.line, error.column}, "invalid TOML: " + error.what);
  }
}

std::optional<Node> parse_toml_value(const std::string& text, const SourceLocation& place) {
  if (const auto excess = find_toml_excess(text)) refuse(place, excess->what);
  Node document;
  try {
    const std::string line = "value = " + text;
    document = Copier(line, "").copy(toml::parse(line));
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
  Node::Table& table = *document.as_table();
  if (table.size() != 1) return std::nullopt;  // a line break and further keys
  Node node = std::move(table.begin()->second);
  set_place(node, place);
  refuse_nul(node);
  return node;
}

std::optional<TomlExcess> find_toml_excess(std::string_view text) { return LimitScanner(text).scan(); }

std::string describe_key_excess() {
  return fmt::format("a key has more than {0} parts, separated by dots; expected at most {0}; shorten the key",
                     kMostKeyParts);
}

}  // namespace tenon::config
