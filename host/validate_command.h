// `host validate FILE`: checks the components of a plugin.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Prints the result of each check. Returns the exit code: 0, or that of a plugin error if a check failed.
int validate(const CommandLine& line);

}  // namespace tenon::host
