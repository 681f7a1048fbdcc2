// Joining a run as one of several processes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/distributed/collectives/process_group.h"
#include "framework/pipeline/state/recorder.h"
#include "host/training/open_run.h"

namespace tenon::host {

// Connects to the other ranks and verifies that all run the same plan with the same plugins. Returns null for a run
// with one process. After this call, ranks other than 0 print only errors. Throws Error(configuration).
std::unique_ptr<distributed::ProcessGroup> join_ranks(const distributed::World& world, const OpenedRun& opened);

// Reports the error to the other ranks and ends this rank with the exit code of the error. It does not wait for pending
// operations with other ranks.
[[noreturn]] void end_rank(distributed::ProcessGroup& group, const std::exception& error);

// The recorder of all ranks except rank 0. It writes nothing: only rank 0 writes files.
class SilentRecorder final : public pipeline::Recorder {
 public:
  explicit SilentRecorder(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder() const override { return folder_; }
  void record(pipeline::LineKind, const pipeline::RunState&,
              const std::vector<std::pair<std::string, double>>&) override {}
  void save_checkpoint(const pipeline::RunState&, std::span<const plugins::NamedTensor>,
                       const pipeline::SavedState&) override {}
  pipeline::BestCheckpoint read_best_checkpoint() override;

 private:
  std::filesystem::path folder_;
};

}  // namespace tenon::host
