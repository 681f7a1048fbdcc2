// Reads texts from files.
#pragma once

#include <string>
#include <string_view>

namespace text_windows {

// Returns the bytes of a file, or of all files that a pattern such as `texts/*.txt` matches. Files are concatenated in
// the byte order of their names, and each begins on a new line. A byte order mark of UTF-8 is left out. Throws
// tenon::DataError naming the path if nothing matches, or a file cannot be read or is UTF-16 or UTF-32.
std::string read_text(const std::string& path);

// Returns the text with LF for CR LF, in NFC.
std::string unify(std::string_view text);

}  // namespace text_windows
