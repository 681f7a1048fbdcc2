// Blanks, equal forms and UTF-8 in names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace formats {

// The index of the first byte that is not UTF-8, or the size of the text. RFC 3629 (F. Yergeau, 2003) excludes
// surrogates, overlong forms and code points above U+10FFFF.
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

}  // namespace formats
