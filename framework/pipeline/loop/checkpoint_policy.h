// When the loop writes checkpoints: periodically, after the best validation so far, and for the last weights.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/pipeline/build/best_metrics.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/state/due.h"

namespace tenon::pipeline {

class CheckpointPolicy {
 public:
  explicit CheckpointPolicy(const Training& training) : due_(training.plan->checkpoint.every) {
    if (training.monitor) best_.emplace(*training.monitor);
  }

  // Takes the metrics of a validation of the current weights.
  void observe(const NamedMetrics& validation, int64_t step) {
    if (best_ && best_->observe(validation, step)) unsaved_best_step_ = step;
  }

  // Returns whether a checkpoint is due by its period. Call it once after each step.
  bool advance(const RunState& state, double time_s) { return due_.advance(state, time_s); }
  // Whether the weights are among the best, and no checkpoint has them.
  bool has_unsaved_best() const { return unsaved_best_step_.has_value(); }
  // Whether a checkpoint with the weights and the state of this step or of a later one was started or loaded.
  bool has_checkpoint_of(int64_t step) const { return last_checkpoint_step_ >= step; }

  // A checkpoint of this step was started. restart(): everything that training does for it is done.
  void note_started(int64_t step) {
    last_checkpoint_step_ = step;
    unsaved_best_step_.reset();
  }
  void restart(double time_s) { due_.restart(time_s); }
  // The state has changed since the checkpoint, in the same step.
  void set_outdated() { last_checkpoint_step_ = -1; }

  // The best value of the monitored metric; none if no metric is monitored or there was no validation.
  std::optional<BestMetrics::Best> best() const {
    if (!best_ || best_->best().empty()) return std::nullopt;
    return best_->best().front();
  }

  // For resuming from a checkpoint of this step.
  void save(SavedState& saved) const {
    due_.save("checkpoint", saved);
    if (best_) best_->save(saved);
  }
  void load(const SavedState& saved, int64_t step) {
    due_.load("checkpoint", saved);
    if (best_) best_->load(saved);
    last_checkpoint_step_ = step;
  }

 private:
  Due due_;
  std::optional<BestMetrics> best_;
  std::optional<int64_t> unsaved_best_step_;
  int64_t last_checkpoint_step_ = -1;
};

}  // namespace tenon::pipeline
