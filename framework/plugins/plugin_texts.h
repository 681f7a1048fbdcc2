// What the texts of a plugin may be, in its tables and in its note.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::plugins {

inline constexpr size_t kLongestText = 1 << 16;  // bytes

// An id appears in run files, folder names and messages: letters that need no quoting anywhere. Lower-case letters,
// digits, _ or -, beginning with a letter.
bool is_id(std::string_view text);

// The first control character of a UTF-8 text but line feed and tab, such as "U+001B"; none if it has none. U+0080 to
// U+009F count: terminals obey them too.
std::optional<std::string> find_control_character(std::string_view text);

}  // namespace tenon::plugins
