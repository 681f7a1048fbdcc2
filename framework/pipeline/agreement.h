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

// Gathers ballots while a step is at work: what is asked for after propose() is of the next. One process alone, without
// a group, has nobody to agree with and calls none of the functions.
class Agreement {
 public:
  // Must outlive this.
  explicit Agreement(distributed::ProcessGroup* group) : group_(group) {}

  void propose(const Ballot& own);
  // What was proposed, by all ranks, takes the place of what was agreed before. REQUIRES: propose() before it.
  void settle();
  // Both at once, in addition to what was agreed before: for a place where all ranks wait for each other anyway.
  void agree_now(const Ballot& own);

  // What is to be acted on; who has, takes it out.
  Ballot& agreed() { return agreed_; }

  // A count of each rank, added up.
  int64_t add_up(int64_t count);

 private:
  distributed::ProcessGroup* group_;
  Ballot agreed_;
  at::Tensor votes_;
  distributed::ProcessGroup::Pending pending_;
};

}  // namespace tenon::pipeline
