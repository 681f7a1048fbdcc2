// Combines the requests of all ranks, so that every rank acts on the same ones.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "framework/distributed/process_group.h"

namespace tenon::pipeline {

// The requests and counters of one rank, or of all ranks combined.
struct LoopRequests {
  bool stop = false;
  bool save = false;
  bool evaluate = false;
  bool log = false;
  int signal = 0;       // signal that requested a stop; 0: none
  double time_s = 0;    // since run_start; combined: rank 0's
  int64_t samples = 0;  // in the step
};

// Combines the ranks' requests while a step runs. Requests made after propose() belong to the next step. A single
// process without a group calls none of these functions.
class RequestSync {
 public:
  // Must outlive this object.
  explicit RequestSync(distributed::ProcessGroup* group) : group_(group) {}

  void start_sync(const LoopRequests& local);
  // Replaces the agreed ballot with the sum of the ballots of all ranks. REQUIRES: propose() was called.
  void finish_sync();
  // propose() and settle() at once, added to the agreed ballot. For points where all ranks synchronize anyway.
  void sync_now(const LoopRequests& local);

  // The requests to act on. The caller clears those that it has handled.
  LoopRequests& synced() { return synced_; }

  // The sum of `count` over all ranks.
  int64_t add_up(int64_t count);

 private:
  distributed::ProcessGroup* group_;
  LoopRequests synced_;
  at::Tensor votes_;
  distributed::ProcessGroup::Pending pending_;
};

}  // namespace tenon::pipeline
