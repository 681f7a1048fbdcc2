// What a shell sources to complete commands, options and their values.
#pragma once

#include <string>

namespace tenon::host {

// `shell`: bash, zsh or fish. Throws Error(configuration) for another one.
std::string print_completions(const std::string& shell);

}  // namespace tenon::host
