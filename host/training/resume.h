// Reads checkpoints of a run: that of --resume, from which it must be able to resume, and the best one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/pipeline/loop/train.h"
#include "framework/pipeline/state/recorder.h"
#include "host/training/open_run.h"

namespace tenon::host {

struct Resumption {
  artifacts::FoundCheckpoint from;
  pipeline::Checkpoint checkpoint;  // contents of `from`
  config::RunPlan plan;             // with what the run file leaves open as in the checkpoint, for identical bits
  bool is_extended = false;         // the run is longer than that of the checkpoint, or a callback has other patience
};

// `what`: see find_checkpoint(); empty for a new run. `attempt`: number of restarts so far. From 1 on, the run resumes
// from its newest checkpoint, if there is one. `processes`: the number that the resumed run has. With several ranks,
// rank 0 chooses the checkpoint and each rank reads the files. Returns nothing if a new run starts. Logs the
// differences from the plan of the checkpoint. Throws Error(checkpoint) as find_checkpoint() does, and with the
// differences if the run cannot resume with the plan.
std::optional<Resumption> find_resumption(const std::string& what, int64_t attempt, const OpenedRunFile& opened,
                                          int64_t processes, distributed::ProcessGroup& group);

// Whether a checkpoint was written in the middle of an epoch.
bool is_within_epoch(const pipeline::SavedState& state);

// Warns if the run continues on another processor or with another number of threads. Call it once the training is
// built, which sets the threads.
void report_other_processor(const Resumption& resumption, const pipeline::Training& training);

// Returns a sentence if the run of the checkpoint has ended as planned and there is nothing to continue: it has
// finished, or a callback ended it and neither its length nor the patience of a callback has changed. Empty otherwise.
std::string describe_no_work(const Resumption& resumption, const pipeline::Training& training);

// Whether a callback that monitors a metric, such as early_stopping, has ended the run. The reason begins with its id.
bool was_stopped_by_metric(const pipeline::Training& training, const pipeline::RunReport& report);

// Reads and verifies the checkpoint that the link `best` of a run folder points to. Throws Error(checkpoint).
pipeline::BestCheckpoint read_best_checkpoint(const std::filesystem::path& run);

}  // namespace tenon::host
