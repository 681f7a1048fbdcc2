// `host plugins` and `host describe ID`: what is there, before anybody writes a run file.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Prints every plugin file that a run would open, with its components, or why it is refused. Gives the exit code: that
// of a plugin error if one is refused.
int list_plugins(const CommandLine& line);

// Prints the components of that id, of whatever kind. Throws Error(configuration) if there is none.
int describe(const CommandLine& line);

}  // namespace tenon::host
