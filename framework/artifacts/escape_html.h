// Any text as content or attribute of HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace tenon::artifacts {

// Control characters but for tabs and line breaks, which neither format allows, and what is not UTF-8 become U+FFFD.
std::string escape_html(std::string_view text);

}  // namespace tenon::artifacts
