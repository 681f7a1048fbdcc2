// A TOML document as a tree that knows where each value stands. The only door to toml++ is toml_tree.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "framework/config/place.h"

namespace tenon::config {

// A date or a time: TOML has them, run files do not use them.
struct Date {};

struct Node {
  using Array = std::vector<Node>;
  using Table = std::map<std::string, Node>;

  std::variant<bool, int64_t, double, std::string, Date, Array, Table> value;
  Place place;       // of the value; of a table with a header: of the header
  Place key_place;   // of its key
  std::string text;  // a scalar or a list as it was written; empty for tables

  const Table* as_table() const { return std::get_if<Table>(&value); }
  Table* as_table() { return std::get_if<Table>(&value); }
  const Array* as_array() const { return std::get_if<Array>(&value); }
  Array* as_array() { return std::get_if<Array>(&value); }
  const std::string* as_string() const { return std::get_if<std::string>(&value); }
};

// The value as messages show it: as it was written, or "a table".
std::string describe(const Node& node);

// The root table of a document. `source` is its file as the user named it. Throws Error(configuration) with
// file:line:column if the text is not TOML.
Node parse_toml(const std::string& text, const std::string& source);

// One value, such as `[1, 2]`; none if the text is anything else. All of it gets the place.
std::optional<Node> parse_toml_value(const std::string& text, const Place& place);

}  // namespace tenon::config
