// `host note FILE`: puts into a plugin's file what it says of itself.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Loads the plugin, checks all that it says, and writes the note that listings read, in place of an older one. The new
// file takes the old one's place at once. Throws Error(plugin) if the plugin is not sound or the note cannot be
// written.
int write_note(const CommandLine& line);

}  // namespace tenon::host
