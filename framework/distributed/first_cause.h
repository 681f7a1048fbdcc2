// Why a run on several processes ended: of all that ended, which one ended the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::distributed {

// How a process ended.
struct RankEnd {
  int64_t rank = 0;
  int exit_code = 0;  // where no signal ended it
  int signal = 0;     // that ended it; 0: none did
  bool was_ended_by_launcher = false;
};

// How a run ended.
struct LaunchReport {
  int exit_code = 0;
  std::string message;  // which process was the first cause; empty where there is nothing to say
};

// It ended by itself, having finished, or having stopped in order because it was asked to.
bool ended_in_order(const RankEnd& end);

// A process that lost another one (exit code 6) is no cause, as long as one ended otherwise. `ends`: of all processes,
// in the order in which they ended. `asked`: the signal that this process was sent, to stop; 0: none was.
LaunchReport find_first_cause(const std::vector<RankEnd>& ends, int asked);

}  // namespace tenon::distributed
