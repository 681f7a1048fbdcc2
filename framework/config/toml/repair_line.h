// Corrections of a line that is not valid TOML.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::config {

struct Repair {
  std::string found;     // "digits has no quotes"
  std::string expected;  // "a string in quotes"
  std::string line;      // the line that the user may have meant; may be two lines
};

// Returns the corrections that may apply, likely ones first. They are guesses: the caller checks that the corrected
// line is valid. `at`: index of the character at which the parser gave up.
std::vector<Repair> list_repairs(const std::string& line, size_t at);

struct Span {
  size_t begin = 0;
  size_t end = 0;
};

// The parts of a line that may not be valid TOML.
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
