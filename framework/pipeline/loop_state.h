// How far a run is, what it has measured since its last line, and when what is next due: between two steps all of what
// the loop itself remembers.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "framework/pipeline/best_figures.h"
#include "framework/pipeline/due.h"
#include "framework/pipeline/loss_meter.h"
#include "framework/pipeline/run_state.h"
#include "framework/pipeline/saved_state.h"
#include "framework/pipeline/train_step.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

struct LoopState {
  // The beginning of a run. `training` must outlive it.
  explicit LoopState(const Training& training);

  // What a step gave.
  void take(const StepFigures& figures);

  // The figures of training, of the losses in one of the meters.
  NamedFigures figures(const LossMeter& losses) const;

  // To a checkpoint, and back. Throws Error(checkpoint) naming what is missing.
  void save(SavedState& saved) const;
  void load(const SavedState& saved);

  const Training& training;
  RunState run;
  int64_t batches_in_epoch = 0;  // that the feed has given
  int64_t skipped_in_epoch = 0;  // samples of them that it lacked, where the run is resumed
  bool has_epoch_ended = false;  // epoch_end was announced
  int64_t last_saved_step = -1;
  LossMeter step_meter;   // of the last step
  LossMeter log_meter;    // since the last log
  LossMeter epoch_meter;  // since the epoch began
  Due log_due;
  Due validation_due;
  Due checkpoint_due;
  std::optional<Due> average_due;
  std::optional<BestFigures> best;                                  // where a figure is monitored
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();  // of the last step whose norm was asked for
  double loss_scale = 1;
  double skipped_steps = 0;
  bool was_skipped = false;  // the step just done

 private:
  template <class Self, class Visit>
  static void visit_counters(Self& self, Visit&& visit);
};

}  // namespace tenon::pipeline
