// The launcher for one machine: starts the processes of a run and watches over them until the last one has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/distributed/first_cause.h"

namespace tenon::distributed {

struct LaunchRequest {
  int64_t processes = 1;               // at least 1
  std::vector<std::string> arguments;  // of this process, with the program's name first; those of each rank
  int64_t omp_threads = 0;             // OMP_NUM_THREADS of each rank; 0: as it is
  int64_t attempt = 0;                 // World::attempt of each rank
  double patience_s = 8;               // that the others have to end by themselves once one has failed
};

// Starts this very program again, once for each rank, with what read_world() reads in the environment, and returns when
// all have ended. Rank 0 has this process's standard input, output and error; what the others write comes out of this
// process's, each line as `[rank 2] ...`. SIGINT, SIGTERM and SIGHUP are passed on; a second one after a second or more
// ends all ranks at once. The ranks end with this process, however it ends. Throws Error(internal) where they cannot be
// started. REQUIRES: the caller is the main thread, which must live as long as the ranks.
LaunchReport launch_ranks(const LaunchRequest& request);

}  // namespace tenon::distributed
