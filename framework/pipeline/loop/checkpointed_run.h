// The complete state of a run between two steps, as a checkpoint stores it, and that of its parts.
#pragma once

#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/loop/loop_state.h"
#include "framework/pipeline/loop/requests.h"
#include "framework/pipeline/loop/train_step.h"
#include "framework/pipeline/state/events.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::pipeline {

// The parts of a run that have a state. The observers are the same on every rank.
struct CheckpointedRun {
  Training& training;
  LoopState& loop;
  TrainStep& step;
  Requests& requests;
  const std::vector<Observer*>& observers;
};

// Collects the state for a checkpoint. Called by all ranks between two steps. `is_stopping`: the request to stop was
// handled.
SavedState collect_state(const CheckpointedRun& run, bool is_stopping);

// Restores the state with the tensors that were saved as the model, and without those that were left out. Throws
// Error(checkpoint) naming what does not match.
void load_run(const CheckpointedRun& run, const std::vector<optimization::NamedTensor>& model,
              const artifacts::ExcludedTensors& excluded, const SavedState& saved);

// The prefix of the names of the optimizer's state.
inline const std::string kOptimizerPrefix = "optimizer.";
// The prefix of the names of the weights of training, if a checkpoint's model has averaged ones.
inline const std::string kWeightsPrefix = "weights.";

// The memory format of the run that saved this state. Throws Error(checkpoint) if the state has none.
config::MemoryFormat saved_memory_format(const SavedState& saved);

// Copies the tensors of a checkpoint's model into this one. `excluded`: the frozen parameters that the checkpoint
// lacks. They keep the values that `plan` initialises them with, which are compared with their digests. Throws
// Error(checkpoint) naming what does not match.
void put_weights(const components::Model& model, const config::ModelSection& plan,
                 const std::vector<optimization::NamedTensor>& stored, const artifacts::ExcludedTensors& excluded);

}  // namespace tenon::pipeline
