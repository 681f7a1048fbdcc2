// The fixed training loop.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "framework/pipeline/events.h"
#include "framework/pipeline/recorder.h"
#include "framework/pipeline/saved_state.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

struct RunReport {
  enum class End { finished, stopped } end = End::finished;
  std::string reason;  // of a stop
  int signal = 0;      // that asked for the stop; 0: none did
  RunState state;      // at the end
};

// What a checkpoint holds, for a run to go on from.
struct Checkpoint {
  std::vector<optimization::NamedTensor> model;
  SavedState state;
};

// Trains to the end of the plan, or until an observer or a signal asks to stop; every event goes to the observers,
// every figure and checkpoint to the recorder. `stop_signal` becomes the number of a signal that arrived; may be set by
// a signal handler. Throws what a component throws, after run_exception and run_teardown were announced.
//
// `resumed`: null, or where to go on, with a training built from the same plan: on a CPU with run.deterministic the
// run then ends with the bits that it would have had without the interruption. Throws Error(checkpoint) for one that
// does not fit.
RunReport train(Training& training, const std::vector<Observer*>& observers, Recorder& recorder,
                const std::atomic<int>& stop_signal, const Checkpoint* resumed = nullptr);

}  // namespace tenon::pipeline
