// Shell scripts that complete commands, options and values.
#pragma once

#include <string>

namespace tenon::host {

// `shell`: bash, zsh or fish. Throws Error(configuration) for any other value.
std::string format_completions(const std::string& shell);

}  // namespace tenon::host
