// host overfit: whether a run's model can learn a few samples by heart.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Trains on so many samples of the run file's training data until the loss is below the threshold, and says so, or what
// stands in the way. Leaves no files. Returns the exit code: 0, or 8 where the threshold was not reached.
int overfit(const CommandLine& line);

}  // namespace tenon::host
