// Escapes any text as content or attribute of HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace tenon::artifacts {

// Invalid UTF-8, control characters other than tabs and line breaks, and characters that reorder text become escapes,
// see support::escape_control_characters().
std::string escape_html(std::string_view text);

}  // namespace tenon::artifacts
