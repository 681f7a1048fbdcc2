// Encodings of text files.
#pragma once

#include <string>
#include <string_view>

namespace formats {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8

// Describes how to convert a text in UTF-16 or UTF-32, by its byte order mark or its zero bytes: "is UTF-16; expected
// UTF-8; ...". "" for other texts.
std::string find_wide_encoding(std::string_view text);

}  // namespace formats
