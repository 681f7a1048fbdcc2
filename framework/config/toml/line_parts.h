// The parts of one line of a run file that may not be valid TOML.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::config {

struct Span {
  size_t begin = 0;
  size_t end = 0;
};

struct LineParts {
  std::vector<Span> strings;            // with their quotes
  std::optional<Span> open_string;      // without a closing quote; ends with the line
  std::vector<Span> bare_values;        // values without quotes: 64, true, digits, normalize()
  std::string unclosed;                 // the brackets that close what the line opens, in order: "]}"
  std::optional<size_t> wrong_bracket;  // the first that closes another bracket than the innermost, or none
  size_t end = 0;                       // of the line without its comment and the blanks before it
};

// A line without `=` that is no table header is taken as the values of a list of several lines.
LineParts find_line_parts(std::string_view line);

// Returns the text without the blanks at its ends.
std::string_view strip_blanks(std::string_view text);

}  // namespace tenon::config
