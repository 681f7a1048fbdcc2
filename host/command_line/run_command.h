// Finds and runs the command of a command line.
#pragma once

namespace tenon::host {

// Returns the exit code of the command (docs/reference/exit_codes.md). Throws Error(configuration) for a wrong command
// line, and what the command throws.
int run_command(int argc, const char* const* argv);

}  // namespace tenon::host
