// host overfit: tests whether the model can overfit a few samples.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Trains on the first samples of the training data until the loss falls below the threshold. Prints the result or
// likely reasons for the failure. Writes no files. Returns the exit code: 0, or 8 if the threshold was not reached.
int overfit(const CommandLine& line);

}  // namespace tenon::host
