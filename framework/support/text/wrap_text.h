// Lines that fit into the width of a terminal. A width of 0 has no limit: the output is a file or a pipe.
#pragma once

#include <string>
#include <vector>

namespace tenon::support {

// Joins the parts. A part that does not fit into the line begins the next one, after two blanks. Parts stay whole.
std::string wrap_parts(const std::vector<std::string>& parts, const std::string& separator, size_t width);

// Wraps a sentence at its blanks.
std::string wrap_words(const std::string& text, size_t width);

// Wraps each line at its blanks.
std::string wrap_lines(const std::string& text, size_t width);

}  // namespace tenon::support
