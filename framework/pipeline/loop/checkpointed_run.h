// The complete state of a run between two steps, as a checkpoint stores it.
#pragma once

#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/loop/loop_state.h"
#include "framework/pipeline/loop/requests.h"
#include "framework/pipeline/loop/train_step.h"
#include "framework/pipeline/state/events.h"

namespace tenon::pipeline {

// The parts of a run that have a state. The observers are the same on every rank.
struct CheckpointedRun {
  Training& training;
  LoopState& loop;
  TrainStep& step;
  Requests& requests;
  const std::vector<Observer*>& observers;
};

// Called by all ranks between two steps. `is_stopping`: the request to stop was handled.
SavedState save_run(const CheckpointedRun& run, bool is_stopping);

// Restores the state with the tensors that were saved as the model, and without those that were left out. Throws
// Error(checkpoint) naming what does not match.
void load_run(const CheckpointedRun& run, const std::vector<optimization::NamedTensor>& model,
              const artifacts::ExcludedTensors& excluded, const SavedState& saved);

}  // namespace tenon::pipeline
