// `host evaluate`: computes the losses and metrics of trained weights in the same way as the run.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Returns the exit code: 0, or 128 + n after signal n. Throws support::Error.
int evaluate(const CommandLine& line);

}  // namespace tenon::host
