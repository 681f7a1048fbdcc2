// Writes the checkpoints of a run and loads its best one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "framework/pipeline/checks/check_finite.h"
#include "framework/pipeline/loop/checkpointed_run.h"
#include "framework/pipeline/loop/run_events.h"
#include "framework/pipeline/state/recorder.h"

namespace tenon::pipeline {

// All ranks call the functions of an object in the same order. Every rank has a recorder; only rank 0 writes files.
class CheckpointSaver {
 public:
  // All must outlive this object.
  CheckpointSaver(const CheckpointedRun& run, RunEvents& events, Recorder& recorder)
      : run_(run), events_(events), recorder_(recorder) {}

  // Call it before the first step: buffers that hold infinity now may hold it in checkpoints.
  void start() { infinite_buffers_ = list_infinite_buffers(run_.training.stored_tensors()); }

  // Between two steps, when the results of all steps have arrived. `is_stopping`: the request to stop was handled.
  // Throws Error(non_finite) if a tensor of the checkpoint is not finite, and Error(plugin) if ranks differ.
  void save(bool is_stopping);

  // Saves the weights of a failed run if they are finite, and for a single process also the state needed for resuming
  // if `is_between_steps`. The ranks cannot communicate any more. REQUIRES: this rank has all weights.
  void save_after_failure(bool is_between_steps);

  // Loads the best weights of the run into the model.
  BestCheckpoint load_best_weights();

 private:
  std::vector<CheckedTensor> list_checked_tensors() const;
  void require_finite() const;

  CheckpointedRun run_;
  RunEvents& events_;
  Recorder& recorder_;
  std::set<std::string> infinite_buffers_;
};

}  // namespace tenon::pipeline
