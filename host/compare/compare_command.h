// `host compare`: several run files, or one with several values, trained in turn and set side by side.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// The exit code of the first run that failed; 128 + n after signal n.
int compare(const CommandLine& line);

}  // namespace tenon::host
