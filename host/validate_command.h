// `host validate FILE`.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Prints what came of each check. Returns the exit code: 0, or that of a plugin's error if a check failed.
int validate(const CommandLine& line);

}  // namespace tenon::host
