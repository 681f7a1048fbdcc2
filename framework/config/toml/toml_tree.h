// A TOML document as a tree with the location of each value. Only toml_tree.cpp uses toml++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "framework/config/toml/diagnostics.h"

namespace tenon::config {

// Limits of a TOML text, checked before it is parsed. toml++ and this program recurse into tables and lists, so a
// deeper document would overflow the stack. Real run files have some kilobytes. Parsing one of this size takes less
// than a second.
constexpr size_t kMostTomlBytes = size_t{1} << 20;
constexpr size_t kMostKeyParts = 32;  // parts of `a.b.c`, in a key, in a header and in --set
constexpr size_t kMostNesting = 32;   // lists and tables inside each other

struct TomlExcess {
  int line;    // from 1
  int column;  // from 1, in characters
  std::string what;
};

// Finds the first key of too many parts, or the first list or table that is nested too deeply. Reads the text once.
// Text that is not TOML is not reported, and neither is anything after its first error.
std::optional<TomlExcess> find_toml_excess(std::string_view text);

// Example: "a key has more than 32 parts, separated by dots; expected at most 32; shorten the key".
std::string describe_key_excess();

// A date or a time. TOML has them, but run files do not use them.
struct Date {};

struct Node {
  using Array = std::vector<Node>;
  using Table = std::map<std::string, Node>;

  std::variant<bool, int64_t, double, std::string, Date, Array, Table> value;
  SourceLocation place;      // location of the value, or of the header of a table
  SourceLocation key_place;  // location of its key
  std::string text;          // source text of a scalar or a list; empty for tables

  const Table* as_table() const { return std::get_if<Table>(&value); }
  Table* as_table() { return std::get_if<Table>(&value); }
  const Array* as_array() const { return std::get_if<Array>(&value); }
  Array* as_array() { return std::get_if<Array>(&value); }
  const std::string* as_string() const { return std::get_if<std::string>(&value); }
};

// The value as shown in messages: its source text, or "a table" or "a list of tables".
std::string describe(const Node& node);

// Returns the root table of a document. `source` is its file as the user named it. Throws Error(configuration) with
// file:line:column if the text is not TOML, contains a NUL character, or is above these limits.
Node parse_toml(const std::string& text, const std::string& source);

// Parses one value, such as `[1, 2]`. None if the text is anything else. All nodes get the location `place`. Throws
// Error(configuration) if a string contains a NUL character or the text is above these limits.
std::optional<Node> parse_toml_value(const std::string& text, const SourceLocation& place);

}  // namespace tenon::config
