// A text as one word of a POSIX shell.
#pragma once

#include <string>

namespace tenon::support {

// "runs/a", "'my runs/a'".
std::string quote_for_shell(const std::string& word);

}  // namespace tenon::support
