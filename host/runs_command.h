// `host runs`: lists the runs in a folder.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Throws Error(configuration) if the folder does not exist or no run has the metric to sort by. Runs that cannot be
// read are logged and skipped.
int list_runs(const CommandLine& line);

}  // namespace tenon::host
