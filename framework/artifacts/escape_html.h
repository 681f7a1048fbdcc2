// Escapes any text as content or attribute of HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace tenon::artifacts {

// Invalid UTF-8 and control characters other than tabs and line breaks become U+FFFD, because neither format allows
// them.
std::string escape_html(std::string_view text);

}  // namespace tenon::artifacts
