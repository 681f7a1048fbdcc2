// `host plugins` and `host describe ID`: what is there, before anybody writes a run file.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Prints every plugin file that a run would open, with its components, or why it is refused: by the notes in the files,
// so that no code of them runs, or with --load by loading them. Gives the exit code: that of a plugin error if one is
// refused.
int list_plugins(const CommandLine& line);

// Prints the components of that id, of whatever kind, with their ports if --ports asks for them, for which their
// plugins are loaded. Throws Error(configuration) if there is none.
int describe(const CommandLine& line);

}  // namespace tenon::host
