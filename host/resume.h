// --resume: which checkpoint a run goes on from, and whether it may.
#pragma once

#include <optional>
#include <string>

#include "framework/artifacts/find_checkpoint.h"
#include "framework/distributed/process_group.h"
#include "framework/pipeline/train.h"
#include "host/open_run.h"

namespace tenon::host {

struct Resumption {
  artifacts::FoundCheckpoint from;
  pipeline::Checkpoint checkpoint;  // what it holds
};

// `what`: as find_checkpoint(), or empty for a new run. A run that is started again, of which this is the `attempt`
// from 1 on, goes on from the newest checkpoint that it has left, if any. With several ranks rank 0 chooses, and each
// reads the files itself. Nothing if the run begins anew. What differs from the plan that the checkpoint was written
// with is logged. Throws Error(checkpoint) as find_checkpoint() does, and where the run cannot go on with the plan,
// saying what differs.
std::optional<Resumption> find_resumption(const std::string& what, int64_t attempt, const OpenedRun& opened,
                                          distributed::ProcessGroup* group);

// Whether the run that the checkpoint is of has nothing left to do.
bool is_finished(const Resumption& resumption, const pipeline::Training& training);

}  // namespace tenon::host
