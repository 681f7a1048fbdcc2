// Starts training, in this process or in others, and connects the ranks of one run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/distributed/collectives/process_group.h"
#include "framework/distributed/launch/world.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/state/recorder.h"
#include "host/training/checkpoint_writer.h"
#include "host/training/open_run.h"
#include "host/training/run.h"

namespace tenon::host {

// Launches the ranks if distributed.processes requests several processes and no other launcher has started them.
// Returns the exit code after all have ended, or nothing if this process does the work, alone or as a rank. Throws as
// start_training() does.
std::optional<int> launch_processes_if_needed(const LaunchOptions& options, const distributed::World& world);

// Launches the ranks if distributed.processes requests several processes and no other launcher has started them.
// Otherwise this process trains, alone or as a rank. Returns the exit code of the run after all processes have ended.
// Throws Error(configuration) for an invalid environment, or if --processes is given under another launcher, and the
// errors of train_in_this_process(). REQUIRES: the options do not say is_check.
int start_training(const TrainOptions& options);

// Connects to the other ranks and verifies that all run the same plan with the same plugins. Returns a group of one
// for a run with one process. After this call, ranks other than 0 print only errors. Throws Error(configuration).
std::unique_ptr<distributed::ProcessGroup> join_ranks(const distributed::World& world, const OpenedRunFile& opened);

// Reports the error to the other ranks and ends this rank with the exit code of the error. It does not wait for pending
// operations with other ranks. A single process rethrows the error. REQUIRES: `error` is being handled.
[[noreturn]] void end_rank(distributed::ProcessGroup& group, const std::exception& error);

// The recorder of all ranks except rank 0. Writes this rank's parts of checkpoints, if the state is divided; rank 0
// writes all other files.
class PartRecorder final : public pipeline::Recorder {
 public:
  // Throws Error(configuration) if the optimizer's state is divided and this machine does not have the run folder.
  PartRecorder(std::filesystem::path folder, const pipeline::Training& training);
  std::filesystem::path folder() const override { return folder_; }
  void append_line(pipeline::LineKind, const pipeline::RunState&,
                   const std::vector<std::pair<std::string, double>>&) override {
    if (parts_) parts_->check();
  }
  void start_checkpoint(const pipeline::RunState& state, std::span<const components::NamedTensor> tensors,
                        const pipeline::SavedState& saved) override {
    if (parts_ && !saved.numbers.empty()) parts_->save(state.step, tensors, saved);
  }
  pipeline::BestCheckpoint read_best_checkpoint() override;
  // Waits for the part that is being written. Throws Error(checkpoint) if the write failed.
  void finish_checkpoint() {
    if (parts_) parts_->finish();
  }

 private:
  std::filesystem::path folder_;
  std::optional<PartWriter> parts_;  // none: rank 0 writes the whole state
};

}  // namespace tenon::host
