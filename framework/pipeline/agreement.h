// What the ranks of a run decide together, so that all act on the same.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "framework/distributed/process_group.h"

namespace tenon::pipeline {

// What a rank has seen and been asked for; or all of them, put together.
struct Ballot {
  bool stop = false;
  bool save = false;
  bool evaluate = false;
  bool log = false;
  int signal = 0;       // one that asked to stop; 0: none
  double time_s = 0;    // since run_start; together: rank 0's
  int64_t samples = 0;  // of the step
};

// Gathers ballots while a step is at work: what is asked for after propose() is of the next.
class Agreement {
 public:
  // Null for one process, which has nobody to agree with. Must outlive this.
  explicit Agreement(distributed::ProcessGroup* group) : group_(group) {}

  void propose(const Ballot& own);
  // What was proposed, by all ranks. REQUIRES: propose() before it.
  Ballot settle();

 private:
  distributed::ProcessGroup* group_;
  at::Tensor votes_;
  distributed::ProcessGroup::Pending pending_;
};

}  // namespace tenon::pipeline
