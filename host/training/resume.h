// Reads checkpoints of a run: that of --resume, from which it must be able to resume, and the best one.
#pragma once

#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
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
};

// `what`: see find_checkpoint(); empty for a new run. `attempt`: number of restarts so far. From 1 on, the run resumes
// from its newest checkpoint, if there is one. `processes`: the number that the resumed run has. With several ranks,
// rank 0 chooses the checkpoint and each rank reads the files. Returns nothing if a new run starts. Logs the
// differences from the plan of the checkpoint. Throws Error(checkpoint) as find_checkpoint() does, and with the
// differences if the run cannot resume with the plan.
std::optional<Resumption> find_resumption(const std::string& what, int64_t attempt, const OpenedRun& opened,
                                          int64_t processes, distributed::ProcessGroup& group);

// Whether a checkpoint was written in the middle of an epoch.
bool is_within_epoch(const pipeline::SavedState& state);

// Returns whether the run of the checkpoint has already finished.
bool is_finished(const Resumption& resumption, const pipeline::Training& training);

// Maps the files of a checkpoint into memory during its verification. What is not used of a file takes no memory: a
// process reads only its part of a state that is divided over processes.
class CheckpointReader {
 public:
  // Returns the callback for artifacts::verify_checkpoint(). The reader must outlive that call.
  artifacts::ReadCheckpointFile reading();

  // Return the tensors of the last checkpoint read. Throw Error(checkpoint) if a file matches its digest but cannot be
  // parsed. `take_training`: of all ranks that wrote them.
  std::vector<optimization::NamedTensor> take_model() { return take(/*of_model=*/true); }
  std::vector<optimization::NamedTensor> take_training() { return take(/*of_model=*/false); }

 private:
  struct Tensors {
    std::vector<optimization::NamedTensor> tensors;
    std::exception_ptr failure;
  };
  Tensors& place_of(const std::filesystem::path& file);
  static std::string read(const std::filesystem::path& file, Tensors& tensors);
  std::vector<optimization::NamedTensor> take(bool of_model);

  std::mutex mutex_;                      // guards the map while files are read
  std::filesystem::path folder_;          // of the checkpoint
  std::map<std::string, Tensors> files_;  // by name; each is written by one thread
};

// Reads and verifies the checkpoint that the link `best` of a run folder points to. Throws Error(checkpoint).
pipeline::BestCheckpoint read_best_checkpoint(const std::filesystem::path& run);

}  // namespace tenon::host
