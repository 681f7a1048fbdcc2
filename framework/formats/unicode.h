// Encodings of texts; blanks and equal forms in names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace formats {

struct Character {
  char32_t code;
  size_t bytes;  // 0: not UTF-8
};

// The first character of a text that is not empty. Overlong forms, surrogates and code points above U+10FFFF are not
// UTF-8 (RFC 3629, F. Yergeau, 2003).
Character first_character(std::string_view text);

// Whether the byte continues a character of UTF-8.
inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The index of the first byte that is not UTF-8, or the size of the text.
size_t find_invalid_utf8(std::string_view text);

// Removes blanks at both ends: spaces, tabs, ends of lines, and the no-break space, ideographic space and byte order
// mark that spreadsheets leave.
std::string_view trim(std::string_view text);

// Composes letters and their marks as NFC (Unicode Standard Annex 15), so that names from macOS, which decomposes them,
// equal those of other systems. A mark is composed only with the letter or mark directly before it. Text that is not
// UTF-8 is returned as it is.
std::string compose(std::string_view text);

// Trims and composes a name.
inline std::string clean_name(std::string_view name) { return compose(trim(name)); }

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8

// Describes how to convert a text in UTF-16 or UTF-32, by its byte order mark or its zero bytes: "is UTF-16; expected
// UTF-8; ...". "" for other texts.
std::string find_wide_encoding(std::string_view text);

}  // namespace formats
