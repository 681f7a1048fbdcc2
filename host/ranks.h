// A run as one of several processes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/distributed/process_group.h"
#include "framework/pipeline/recorder.h"
#include "host/open_run.h"

namespace tenon::host {

// Meets the other ranks, and makes sure that all run the same plan with the same plugins; null where there are none.
// From here on this rank's terminal has errors alone, unless it is rank 0. Throws Error(configuration).
std::unique_ptr<distributed::ProcessGroup> join_ranks(const distributed::World& world, const OpenedRun& opened);

// The others are told why this rank ends, and then it ends, with the exit code of the error: nothing that still waits
// for them is waited for.
[[noreturn]] void end_rank(distributed::ProcessGroup& group, const std::exception& error);

// Of a rank that is not the first: the files are rank 0's.
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
