// `host plugins` and `host describe ID`: list and describe the available plugins and components.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Prints every plugin file that a run would open, with its components or the reason for its refusal. Reads the notes in
// the files, so that no plugin code runs. With --load it loads the plugins. Returns the exit code: that of a plugin
// error if a file is refused.
int list_plugins(const CommandLine& line);

// Prints the components of all kinds with that id. --ports adds their ports, for which their plugins are loaded. Throws
// Error(configuration) if there is none.
int describe(const CommandLine& line);

}  // namespace tenon::host
