// Runs the command that a command line names.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Runs it and returns its exit code (docs/exit_codes.md). Throws what the command throws.
int run_command(const CommandLine& line);

}  // namespace tenon::host
