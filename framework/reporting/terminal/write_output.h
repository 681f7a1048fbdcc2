// Writes what a program shows to standard output.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tenon::reporting {

// Text from plugins, files and paths is safe here: see support::escape_control_characters(). Errors are not reported:
// the program checks standard output at its end. `format` is that of printf(). JSON ends with a line feed; `indent` is
// that of nlohmann::json::dump().
void write_output_text(std::string_view text);
// Wraps each line that is wider than the terminal.
void write_wrapped_output_text(const std::string& text);
// For text that is already safe, such as that of TextTable::format_within(), which may have colours.
void write_safe_output_text(std::string_view text);
[[gnu::format(printf, 1, 2)]] void write_output(const char* format, ...);
void write_output_json(const nlohmann::ordered_json& json, int indent = 2);

}  // namespace tenon::reporting
