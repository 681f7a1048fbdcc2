// The fixed training loop.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "framework/pipeline/best_figures.h"
#include "framework/pipeline/events.h"
#include "framework/pipeline/recorder.h"
#include "framework/pipeline/saved_state.h"
#include "framework/pipeline/stage_times.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

struct RunReport {
  enum class End { finished, stopped } end = End::finished;
  std::vector<StageSeconds> stages;       // where the time of this process's training thread went
  std::string reason;                     // of a stop
  int signal = 0;                         // that asked for the stop; 0: none did
  RunState state;                         // at the end
  std::optional<BestFigures::Best> best;  // of what is monitored
  config::MemoryFormat memory_format = config::MemoryFormat::contiguous;  // that the weights had
};

// What signals ask for, set by their handlers.
struct SignalRequests {
  const std::atomic<int>& stop;  // the number of one that asks to stop; 0: none came
  std::atomic<bool>& save;       // for a checkpoint; taken back when one is written
};

// What a checkpoint holds, for a run to go on from.
struct Checkpoint {
  std::vector<optimization::NamedTensor> model;
  SavedState state;
};

// Trains to the end of the plan, or until an observer or a signal asks to stop; every event goes to the observers,
// every figure and checkpoint to the recorder. Throws what a component throws, after run_exception and run_teardown
// were announced.
//
// `resumed`: null, or where to go on, with a training built from the same plan: on a CPU with run.deterministic the
// run then ends with the bits that it would have had without the interruption. Throws Error(checkpoint) for one that
// does not fit.
RunReport train(Training& training, const std::vector<Observer*>& observers, Recorder& recorder,
                const SignalRequests& signals, const Checkpoint* resumed = nullptr);

}  // namespace tenon::pipeline
