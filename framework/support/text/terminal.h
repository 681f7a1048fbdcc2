// The width and the colours of terminals.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace tenon::support {

// Returns the number of columns of a terminal, 80 if it does not know them. Returns 0 for a stream that is no terminal.
size_t find_terminal_width(std::FILE* stream);

// Selects which streams get colours from now on. `automatic`, the default: terminals, unless TERM is "dumb" or missing,
// or NO_COLOR is set and not empty (https://no-color.org).
enum class Colours { automatic, always, never };
void set_colours(Colours colours);
bool has_colours(std::FILE* stream);

enum class Style { plain, bold, faint, red, green, yellow };

// Encloses the text in escape sequences. Text of plugins and files must be escaped before, by
// escape_control_characters().
std::string add_style(const std::string& text, Style style);

}  // namespace tenon::support
