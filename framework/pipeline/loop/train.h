// The fixed training loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/pipeline/build/best_metrics.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/loop/requests.h"
#include "framework/pipeline/loop/run_evaluations.h"
#include "framework/pipeline/state/events.h"
#include "framework/pipeline/state/recorder.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/pipeline/state/stage_times.h"

namespace tenon::pipeline {

struct RunReport {
  enum class End { finished, stopped } end = End::finished;
  std::vector<StageSeconds> stages;       // time of this process's training thread by stage
  std::string reason;                     // why the run was stopped
  int signal = 0;                         // the signal that requested the stop; 0: none
  RunState state;                         // at the end of the run
  std::optional<BestMetrics::Best> best;  // the best value of the monitored metric
  std::optional<TestResults> test;        // none: the plan has no test data, or a signal stopped the run
  config::MemoryFormat memory_format = config::MemoryFormat::contiguous;  // of the weights
};

// The contents of a checkpoint, for resuming a run.
struct Checkpoint {
  std::vector<optimization::NamedTensor> model;
  SavedState state;
  artifacts::ExcludedTensors excluded = {};  // frozen parameters that `model` lacks
};

// Trains to the end of the plan, or until an observer or a signal requests a stop. Dispatches every event to the
// observers, and passes all metrics and checkpoints to the recorder. Unless a signal stopped it, evaluates the test
// data once at the end, with the best weights; observers see only the values, at run_end. Rethrows the exceptions of
// components after dispatching run_exception and run_teardown.
//
// `resumed`: the checkpoint to resume from, or none. It is released before the first step. `training` must be built
// from the same plan. On a CPU with run.deterministic, the result is bitwise equal to that of an uninterrupted run.
// Throws Error(checkpoint) for a checkpoint that does not match.
RunReport train(Training& training, const std::vector<Observer*>& observers, Recorder& recorder,
                const SignalRequests& signals, std::optional<Checkpoint> resumed = std::nullopt);

}  // namespace tenon::pipeline
