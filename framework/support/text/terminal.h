// The width and the colours of terminals, and lines that fit into the width.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

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

// Below, a width of 0 has no limit: the output is a file or a pipe.

// Joins the parts. A part that does not fit into the line begins the next one, after two blanks. Parts stay whole.
std::string wrap_parts(const std::vector<std::string>& parts, const std::string& separator, size_t width);

// Wraps a sentence at its blanks.
std::string wrap_words(const std::string& text, size_t width);

// Wraps each line at its blanks. What follows has the indent of the line and two more blanks.
std::string wrap_lines(const std::string& text, size_t width);

}  // namespace tenon::support
