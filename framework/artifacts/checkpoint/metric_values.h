// Metrics of a run, `part/metric` -> value, and their text format in files.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::artifacts {

// In the order in which files show them.
using NamedMetrics = std::vector<std::pair<std::string, double>>;

// Returns the shortest text that is read back with the same bits: `0.31`, `1e-05`. NaN and infinities are `NaN`,
// `Infinity` and `-Infinity`, because JSON has no number for them. As JSON strings ("NaN") they differ from a missing
// metric, and Python's float() and JavaScript's Number() can read them.
std::string format_number(double number);
std::string format_json_number(double number);  // the same, quoted if JSON requires it

// Parses the text of NaN or an infinity from format_json_number(), without the quotes. Throws std::invalid_argument.
double parse_not_finite(std::string_view text);

// Returns a JSON string. Invalid UTF-8 becomes U+FFFD.
std::string format_json_string(std::string_view text);

}  // namespace tenon::artifacts
