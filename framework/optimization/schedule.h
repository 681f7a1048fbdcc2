// The learning rate of every step.
#pragma once

#include <cstdint>

#include "framework/config/run_plan.h"

namespace tenon::optimization {

// A function of the step alone: nothing to save, and a resumed run needs only its step number.
class Schedule {
 public:
  // base_lr: the optimizer's learning rate; one-cycle's peak. total_steps: optimizer steps of the whole run.
  // REQUIRES: total_steps >= 1.
  static Schedule make(const config::SchedulePlan& plan, double base_lr, int64_t total_steps);

  // Step 0 is the first optimizer step. After the last one (step >= total_steps) the last step's rate is kept.
  //
  // One-cycle equals torch.optim.lr_scheduler.OneCycleLR(cycle_momentum=False), which has two surprises of its own: a
  // run of one step uses the final rate, and a warmup_fraction of 0 starts one step below the peak. Where PyTorch
  // divides by zero (a warm-up that is exactly one step long), that step uses the peak. REQUIRES: step >= 0.
  double learning_rate(int64_t step) const;

 private:
  Schedule(const config::SchedulePlan& plan, double base_lr, int64_t total_steps);

  config::SchedulePlan plan_;
  double base_lr_;
  int64_t total_steps_;
};

}  // namespace tenon::optimization
