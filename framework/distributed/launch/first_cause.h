// Finds the first cause for the end of a run with several processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::distributed {

// How a process ended.
struct RankEnd {
  int64_t rank = 0;
  int exit_code = 0;  // valid if no signal ended the process
  int signal = 0;     // signal that ended the process; 0: none
  bool was_ended_by_launcher = false;
  char state = 0;  // state of the process when the launcher ended it, see process_state.h
};

// How a run ended.
struct LaunchReport {
  int exit_code = 0;
  std::string message;  // names the process that was the first cause; empty if there is nothing to report
  bool was_stopped_to_restart = false;  // by LaunchRequest::on_checkpoint, and all ranks have stopped in order
};

// Returns whether the process finished or stopped on request.
bool ended_in_order(const RankEnd& end);

// A process that lost another one (exit code 6) is not the cause if another process failed differently, or was stopped
// so that it did not answer. `ends`: the ends of all processes in order of time. `requested`: signal that requested
// this process to stop; 0: none.
LaunchReport find_first_cause(const std::vector<RankEnd>& ends, int requested);

}  // namespace tenon::distributed
