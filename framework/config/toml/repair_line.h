// Corrections of a line that is not valid TOML.
#pragma once

#include <cstddef>
#include <functional>
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

}  // namespace tenon::config
