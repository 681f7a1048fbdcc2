// The launcher for one machine: starts the ranks of a run and monitors them until the last one has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/distributed/launch/first_cause.h"

namespace tenon::distributed {

struct LaunchRequest {
  int64_t processes = 1;               // at least 1
  std::vector<std::string> arguments;  // command line of this process and of each rank; program name first
  int64_t omp_threads = 0;             // OMP_NUM_THREADS of each rank; 0: unchanged
  int64_t attempt = 0;                 // World::attempt of each rank
  double patience_s = 8;               // time for the other ranks to end by themselves after one has failed
};

// Starts this program once for each rank, with the environment for read_world(), and returns after all ranks have
// ended. Rank 0 inherits standard input, output and error of this process. Output of the other ranks is written with a
// prefix on each line, such as `[rank 2] ...`. SIGINT, SIGTERM and SIGHUP are forwarded, and stopped ranks continue. A
// second signal at least one second later kills all ranks. After a failure, stopped ranks are killed at once, and the
// others after patience_s. The ranks end if this process ends for any reason. Throws Error(system) if a rank cannot
// be started. REQUIRES: the caller is the main thread, which must live as long as the ranks.
LaunchReport launch_ranks(const LaunchRequest& request);

}  // namespace tenon::distributed
