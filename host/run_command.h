// Runs the command of a command line.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Returns the exit code of the command (docs/exit_codes.md). Throws what the command throws.
int run_command(const CommandLine& line);

}  // namespace tenon::host
