// Texts in files.
#pragma once

#include <string>

namespace text_windows {

// The bytes of a file, or of all that a pattern such as `texts/*.txt` matches, one after the other in the byte order of
// their names, each on a line of its own. Throws tenon::DataError naming the path: nothing matches, or a file cannot be
// read.
std::string read_text(const std::string& path);

}  // namespace text_windows
