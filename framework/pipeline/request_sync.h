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

// Combines the ranks' requests while a step runs. Requests made after start_sync() belong to the next step. A single
// process without a group only uses synced().
class RequestSync {
 public:
  // Must outlive this object.
  explicit RequestSync(distributed::ProcessGroup* group) : group_(group) {}

  // Starts to combine this rank's requests with those of the other ranks.
  void start_sync(const LoopRequests& local);
  // Waits for the other ranks and replaces synced() with the combined requests. REQUIRES: start_sync() was called.
  void finish_sync();
  // Calls start_sync() and finish_sync(), and keeps the requests that synced() already had. Use it at points where all
  // ranks synchronise anyway.
  void sync_now(const LoopRequests& local);

  // The requests to act on. The caller clears those that it has handled.
  LoopRequests& synced() { return synced_; }

  // The sum of `count` over all ranks.
  int64_t add_up(int64_t count);

 private:
  distributed::ProcessGroup* group_;
  LoopRequests synced_;
  at::Tensor packed_;
  distributed::ProcessGroup::Pending pending_;
};

}  // namespace tenon::pipeline
