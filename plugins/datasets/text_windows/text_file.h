// Reads texts from files.
#pragma once

#include <string>

namespace text_windows {

// Returns the bytes of a file, or of all files that a pattern such as `texts/*.txt` matches. Files are concatenated in
// the byte order of their names, and each begins on a new line. Throws tenon::DataError naming the path if nothing
// matches, or a file cannot be read.
std::string read_text(const std::string& path);

}  // namespace text_windows
