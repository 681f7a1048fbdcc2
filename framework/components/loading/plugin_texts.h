// Rules for the texts in a plugin's tables and note.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::components {

inline constexpr size_t kMaxTextLength = 1 << 16;  // bytes

// Whether the text is an id: lower-case letters, digits, _ or -, beginning with a letter. Ids appear in run files,
// folder names and messages, so they need no quoting anywhere.
bool is_id(std::string_view text);

// The first control character of a UTF-8 text, such as "U+001B"; none if there is none. Line feed and tab are allowed.
// U+0080 to U+009F are not, because terminals interpret them.
std::optional<std::string> find_control_character(std::string_view text);

}  // namespace tenon::components
