// Limits of a TOML text, checked before it is parsed. toml++ and this program recurse into tables and lists, so a
// deeper document would overflow the stack.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::config {

// Real run files have some kilobytes. Parsing one of this size takes less than a second.
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

}  // namespace tenon::config
