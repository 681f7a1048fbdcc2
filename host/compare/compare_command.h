// `host compare`: trains several run files, or one with several values, one after another and compares the runs.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Returns 0, the exit code of the first run that failed, or 128 + n after signal n.
int compare(const CommandLine& line);

}  // namespace tenon::host
