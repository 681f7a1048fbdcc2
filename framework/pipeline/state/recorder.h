// Stores the history and checkpoints of a run: in the run folder in the host, in memory in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/components/kinds/model.h"
#include "framework/pipeline/state/run_state.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::pipeline {

enum class LineKind { step, epoch, validation, checkpoint, test };

// The weights and metrics of a checkpoint.
struct BestCheckpoint {
  int64_t step;
  std::vector<optimization::NamedTensor> model;
  MetricValues metrics;
  artifacts::ExcludedTensors excluded = {};  // frozen parameters that `model` lacks
  int64_t epoch = 0;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  // The absolute path of its folder; empty if it writes no files.
  virtual std::filesystem::path folder() const = 0;
  // Writes one line of the history, with the metrics in display order.
  virtual void append_line(LineKind kind, const RunState& state,
                           const std::vector<std::pair<std::string, double>>& metrics) = 0;
  // The checkpoint with the best value of the monitored metric. Waits for pending writes; with several ranks, rank 0
  // finishes them before the other ranks call this. Throws Error(checkpoint).
  virtual BestCheckpoint read_best_checkpoint() = 0;
  // Starts to write a complete checkpoint of the model's tensors and of the state that resuming needs. `saved` is empty
  // if that state is unavailable; then only the weights are usable. With several ranks all call it at the same time,
  // and the tensors and the optimizer's state in `saved` may be only those of this rank. The tensors may be changed
  // after it returns. Throws Error(checkpoint), also for the previous checkpoint.
  virtual void start_checkpoint(const RunState& state, std::span<const components::NamedTensor> tensors,
                                const SavedState& saved) = 0;
};

}  // namespace tenon::pipeline
