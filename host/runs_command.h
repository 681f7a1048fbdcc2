// `host runs`: the runs in a folder, one beside the other.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Throws Error(configuration) where the folder is none, or no run has the figure to sort by. What cannot be read of a
// run is logged, and the run left out.
int list_runs(const CommandLine& line);

}  // namespace tenon::host
