// Starts training, in this process or in others.
#pragma once

#include "host/training/train_options.h"

namespace tenon::host {

// Launches the ranks if distributed.processes requests several processes and no other launcher has started them.
// Otherwise this process trains, alone or as a rank. Returns the exit code of the run after all processes have ended.
// Throws Error(configuration) for an invalid environment, or if --processes is given under another launcher, and the
// errors of run(). REQUIRES: the options do not say is_check.
int start_training(const TrainOptions& options);

}  // namespace tenon::host
