// `host note FILE`: writes the list of components into a plugin file.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Loads the plugin, checks its tables and writes the note that listings read. Replaces an older note. The file is
// replaced atomically. Throws Error(plugin) if the plugin is invalid or the note cannot be written.
int write_note(const CommandLine& line);

}  // namespace tenon::host
