// Text from plugins, files and paths, made safe for a terminal and a log.
#pragma once

#include <string>
#include <string_view>

namespace tenon::support {

// Replaces control characters, except tab and line feed, by escapes such as \u001b, so that a terminal does not obey
// them. Replaces characters that reorder or hide text in the same way, and bytes that are not UTF-8 by escapes such as
// \xe9. JSON stays the same JSON.
std::string escape_control_characters(std::string_view text);

bool is_utf8(std::string_view text);

// Replaces what is not UTF-8 by U+FFFD, once for each longest beginning of a character, as Unicode recommends.
std::string replace_invalid_utf8(std::string_view text);

// Prepares a message: escapes control characters, and
//   - indents lines after the first, so that none of them looks like another message;
//   - keeps the beginning and the end of a quoted value of more than 200 bytes, of another word of more than 255 bytes
//     (the longest name of a file), and of a text of more than 16 KiB.
std::string printable(std::string_view text);

}  // namespace tenon::support
