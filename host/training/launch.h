// Starts training, in this process or in others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/distributed/launch/world.h"
#include "host/training/train_options.h"

namespace tenon::host {

struct LaunchOptions {
  RunFile file;
  int64_t processes = 0;                  // --processes, which is also in the overrides; 0: not given
  int64_t least_processes = 0;            // processes with which the run may continue; 0: all of them
  int64_t restarts = 0;                   // maximum number of restarts after a lost process
  std::vector<std::string> command_line;  // with the program
};

// Launches the ranks if distributed.processes requests several processes and no other launcher has started them.
// Returns the exit code after all have ended, or nothing if this process does the work, alone or as a rank. Throws as
// start_training() does.
std::optional<int> launch_processes(const LaunchOptions& options, const distributed::World& world);

// Launches the ranks if distributed.processes requests several processes and no other launcher has started them.
// Otherwise this process trains, alone or as a rank. Returns the exit code of the run after all processes have ended.
// Throws Error(configuration) for an invalid environment, or if --processes is given under another launcher, and the
// errors of run(). REQUIRES: the options do not say is_check.
int start_training(const TrainOptions& options);

}  // namespace tenon::host
