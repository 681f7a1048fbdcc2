// The state of the training loop between two steps: progress, losses since the last log line, and when the next log,
// validation and checkpoint are due.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "framework/data/sampler.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/loop/checkpoint_policy.h"
#include "framework/pipeline/loop/train_step.h"
#include "framework/pipeline/losses/loss_sums.h"
#include "framework/pipeline/state/due.h"
#include "framework/pipeline/state/run_state.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/pipeline/state/step_count.h"

namespace tenon::pipeline {

struct LoopState {
  // Starts at the beginning of a run. `training` must outlive this object.
  explicit LoopState(const Training& training);

  // Adds the results of a step. Losses that are not finite are left out.
  void add_results(const StepMetrics& metrics);

  // The training metrics, with one of the sums of losses.
  NamedMetrics metrics(const LossSums& losses) const;

  // Call it after each step. Returns whether the average takes the weights of this step.
  bool advance_average(double time_s);

  // Call it after an epoch. Throws Error(data) if no rank could read a sample. A single process gets it from its feed.
  void require_samples() const;

  // The step of the schedule for the next step.
  int64_t schedule_step() const;

  // Writes the state to a checkpoint and reads it back. If the number of ranks, the batch size or the number of batches
  // in a step has changed, load() divides the rest of the epoch anew. It throws Error(checkpoint) naming what is
  // missing.
  void save(SavedState& saved) const;
  void load(const SavedState& saved);

  const Training& training;
  RunState state;
  StepCount steps;
  data::EpochRest rest;                       // the part of the epoch that these ranks read, if others began it
  int64_t batches_in_epoch = 0;               // batches of this part that were read from the feed
  int64_t skipped_in_epoch = 0;               // samples that this rank has skipped; set when a run is resumed
  bool has_epoch_ended = false;               // epoch_end was dispatched
  LossSums step_losses;                       // of the last step
  LossSums log_losses;                        // since the last log
  LossSums epoch_losses;                      // since the epoch started
  std::optional<NamedMetrics> epoch_metrics;  // values of the training metrics, once the epoch is complete
  Due log_due;
  Due validation_due;
  bool misses_validation = false;  // a signal stopped the run instead of the validation that was due; in checkpoints
  std::optional<Due> average_due;
  CheckpointPolicy checkpoint_policy;
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();  // of the last step that computed the norm
  double loss_scale = 1;
  double skipped_steps = 0;

 private:
  template <class Self, class Visit>
  static void visit_counters(Self& self, Visit&& visit);
  template <class Self, class Visit>
  static void visit_times(Self& self, Visit&& visit);
  void save_epoch(SavedState& saved) const;
  void load_epoch(const SavedState& saved);
  void count_steps();
};

}  // namespace tenon::pipeline
