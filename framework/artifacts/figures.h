// Named numbers of a run, `part/figure` -> value, and how files write them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::artifacts {

using Figures = std::vector<std::pair<std::string, double>>;  // in the order in which files show them

// The shortest text that reads back to the same bits: `0.31`, `1e-05`. NaN and infinities, for which JSON has no
// number, are `NaN`, `Infinity` and `-Infinity`: as JSON strings ("NaN") they stay apart from a figure that is missing,
// and Python's float() and JavaScript's Number() read them.
std::string print_number(double number);
std::string print_json_number(double number);  // the same, quoted where JSON needs it

// Reads what print_json_number() wrote between the quotes, of NaN and the infinities. Throws std::invalid_argument.
double parse_not_finite(std::string_view text);

// The text; what is not UTF-8 becomes U+FFFD.
std::string make_utf8(std::string_view text);

// A JSON string; what is not UTF-8 becomes U+FFFD.
std::string print_json_string(std::string_view text);

}  // namespace tenon::artifacts
