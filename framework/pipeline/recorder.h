// Where the pipeline leaves what should last: the run folder in the host, memory in a test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/run_state.h"
#include "framework/pipeline/saved_state.h"
#include "framework/plugins/model.h"

namespace tenon::pipeline {

enum class LineKind { step, epoch, validation, checkpoint };

// The weights of a checkpoint, and how good they are.
struct BestCheckpoint {
  int64_t step;
  std::vector<optimization::NamedTensor> model;
  Figures figures;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  // Where it leaves files, absolute; empty if it leaves none.
  virtual std::filesystem::path folder() const = 0;
  // One line of the history; the figures in the order in which they should be read.
  virtual void record(LineKind kind, const RunState& state,
                      const std::vector<std::pair<std::string, double>>& figures) = 0;
  // The one that has the best value of what the run monitors. Waits for what is still being written; with several
  // ranks rank 0 has done that before the others ask. Throws Error(checkpoint).
  virtual BestCheckpoint read_best_checkpoint() = 0;
  // A complete checkpoint of the model as it is now, and of what else the run needs to go on; `saved` is empty where it
  // could not be told, and only the weights are of use. Throws Error(checkpoint).
  virtual void save_checkpoint(const RunState& state, std::span<const plugins::NamedTensor> tensors,
                               const SavedState& saved) = 0;
};

}  // namespace tenon::pipeline
