// The launcher for one machine: starts the ranks of a run and monitors them until the last one has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::distributed {

// How a run ended.
struct LaunchReport {
  int exit_code = 0;
  std::string message;  // names the process that was the first cause; empty if there is nothing to report
  bool was_stopped_to_restart = false;  // by LaunchRequest::on_checkpoint, and all ranks have stopped in order
};

struct LaunchRequest {
  int64_t processes = 1;               // at least 1
  std::vector<std::string> arguments;  // command line of this process and of each rank; program name first
  int64_t omp_threads = 0;             // OMP_NUM_THREADS of each rank; 0: unchanged
  int64_t attempt = 0;                 // World::attempt of each rank
  double patience_s = 8;               // time for the other ranks to end by themselves after one has failed
  // Called after rank 0 has reported a checkpoint, see report_checkpoint(). If it returns true, the ranks get SIGTERM,
  // so that they can be started again in another number.
  std::function<bool()> on_checkpoint = {};
};

// Starts this program once for each rank, with the environment for read_world(), and returns after all ranks have
// ended. Rank 0 inherits standard input, output and error of this process. Output of the other ranks is written with a
// prefix on each line, such as `[rank 2] ...`. SIGINT, SIGTERM and SIGHUP are forwarded, and stopped ranks continue. A
// second signal at least one second later kills all ranks. SIGUSR2 is how rank 0 reports a checkpoint. After a failure,
// stopped ranks are killed at once, and the others after patience_s. The ranks end if this process ends for any reason.
// Throws Error(system) if a rank cannot be started. REQUIRES: the caller is the main thread, which must live as long as
// the ranks.
LaunchReport launch_ranks(const LaunchRequest& request);

// Reports to the launcher that a checkpoint was written. Called by rank 0, if World::reports_checkpoints.
void report_checkpoint();

}  // namespace tenon::distributed
