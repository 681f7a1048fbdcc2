// `host evaluate`: the figures of trained weights on the data of a run file, as the run itself computes them.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Returns the exit code: 0, or 128 + n after signal n. Throws support::Error.
int evaluate(const CommandLine& line);

}  // namespace tenon::host
