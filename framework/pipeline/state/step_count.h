// The steps of a run. Their number in an epoch may change when the run resumes: with another number of processes, batch
// size or number of batches per step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "framework/config/plan/run_plan.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::pipeline {

// The schedule is that of the run as it began. After a change, the run continues in it at the end of an epoch where it
// would have been without the change, and each step advances it by more or less than one of its steps.
class StepCount {
 public:
  // REQUIRES: steps_per_epoch >= 1.
  explicit StepCount(int64_t steps_per_epoch) : first_(steps_per_epoch), now_(steps_per_epoch) {}

  int64_t per_epoch() const { return now_; }
  // When the run began. The schedule's lengths in epochs are measured with it.
  int64_t first_per_epoch() const { return first_; }

  // The step of the schedule for this step of the run, if the run is limited by epochs.
  int64_t position(int64_t step) const;
  // The steps of the run after so many epochs.
  int64_t after_epochs(int64_t epochs) const { return step_ + (epochs - epoch_) * now_; }
  // The epochs, with the last one in progress, after so many steps.
  int64_t epochs_after(int64_t steps) const { return epoch_ + std::max<int64_t>(steps - step_ + now_ - 1, 0) / now_; }

  // From now on an epoch has this number of steps, and `epoch` ends after `step`.
  void change(int64_t steps_per_epoch, int64_t epoch, int64_t step);

  void save(SavedState& saved) const;
  // Restores the count of the run that wrote the checkpoint.
  void load(const SavedState& saved);

 private:
  int64_t first_;
  int64_t now_;
  int64_t epoch_ = 0;  // ends after step_, and position epoch_ * first_
  int64_t step_ = 0;
};

// REQUIRES: steps_per_epoch >= 1. Throws Error(configuration) with the location if there are more than 1e15 steps.
// Schedules and periods compute in double precision, which cannot count more steps exactly.
int64_t count_total_steps(const config::TrainSection& train, int64_t steps_per_epoch);

}  // namespace tenon::pipeline
