// The learning rate of every step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "framework/config/plan/schedule_plan.h"

namespace tenon::optimization {

// The values that a schedule sets for each optimizer step.
struct StepRates {
  double learning_rate = 0;
  // Replaces the optimizer's momentum: that of SGD, RMSprop and Muon, the first beta of Adam, AdamW and Lion.
  std::optional<double> momentum = std::nullopt;
};

// Lengths in optimizer steps.
struct RunLength {
  int64_t total_steps;      // at least 1
  int64_t steps_per_epoch;  // at least 1
};

// Converts a length to whole steps, rounded to the nearest and at least `least`. `rest`: the remaining steps of the
// run.
int64_t count_steps(const config::ScheduleLength& length, const RunLength& run, int64_t rest, int64_t least);

// Reduces the learning rate when a metric stops improving, as torch.optim.lr_scheduler.ReduceLROnPlateau.
class Plateau {
 public:
  Plateau(const config::PlateauSchedule& plan, double base_lr);

  const std::string& metric() const { return plan_.metric; }
  double learning_rate() const { return learning_rate_; }

  // Takes a new value of the metric. NaN is no improvement.
  void observe(double metric);

  // Everything a resumed run needs, with PyTorch's names: `learning_rate`, `best`, `num_bad_epochs`,
  // `cooldown_counter`.
  std::map<std::string, double> state() const;
  // Throws Error(checkpoint) naming a number that is missing.
  void load_state(const std::map<std::string, double>& state);

 private:
  bool is_better(double metric) const;

  config::PlateauSchedule plan_;
  double learning_rate_;
  double best_;
  int64_t num_bad_epochs_ = 0;
  int64_t cooldown_counter_ = 0;
};

// The rate depends only on the step: there is no state to save, and a resumed run needs only its step number. The
// exception is reduce_on_plateau, which monitors a metric and has a state.
//
// Step 0 is the first optimizer step. The warm-up comes first: it is linear, from warmup_start_factor times the
// schedule's first rate to that rate, as torch.optim.lr_scheduler.SequentialLR with LinearLR. The schedule counts its
// steps from the end of the warm-up. Rates are computed in closed form. They differ from PyTorch's schedulers by a few
// roundings, because some of those compute each rate from the previous one.
//
//   constant             the optimizer's lr
//   linear               LinearLR(1, end_factor)
//   cosine               CosineAnnealingLR (Loshchilov and Hutter, arXiv:1608.03983); stays at eta_min after its length
//   cosine_restarts      CosineAnnealingWarmRestarts (the same)
//   one_cycle            OneCycleLR (Smith and Topin, arXiv:1708.07120) over all steps after the warm-up. It has two
//                        special cases: a run of one step uses the final rate, and a warmup_fraction of 0 starts one
//                        step below the peak. PyTorch divides by zero if the rise is exactly one step long; here that
//                        step is the peak. The rate stays constant after the last step.
//   polynomial           PolynomialLR
//   step, multi_step     StepLR, MultiStepLR
//   exponential          ExponentialLR, also between multiples of the length: lr * gamma^(step / every)
//   warmup_stable_decay  Hu et al., arXiv:2404.06395: lr, with a decay to lr * end_factor at the end of the run
//   reduce_on_plateau    ReduceLROnPlateau
class Schedule {
 public:
  // base_lr: the optimizer's learning rate; the peak for one_cycle. REQUIRES: both lengths are at least 1.
  static Schedule make(const config::SchedulePlan& plan, double base_lr, const RunLength& run);

  // REQUIRES: step >= 0.
  StepRates rates(int64_t step) const;

  // The metric for observe(), by its name in the history; null if the schedule depends only on the step.
  const std::string* monitored_metric() const { return plateau_ ? &plateau_->metric() : nullptr; }

  // Takes each new value of the metric. REQUIRES: monitored_metric().
  void observe(double metric);

  // For a checkpoint; empty if the schedule depends only on the step.
  std::map<std::string, double> state() const;
  // Throws Error(checkpoint) naming what is missing. Does nothing if the schedule depends only on the step.
  void load_state(const std::map<std::string, double>& state);

 private:
  Schedule(const config::SchedulePlan& plan, double base_lr, const RunLength& run);

  int64_t warmup_steps_;
  double warmup_start_factor_;
  std::optional<Plateau> plateau_;
  // Returns the rates of a step, counted from 0 at the end of the warm-up. Unused with a plateau.
  std::function<StepRates(int64_t step)> shape_;
};

}  // namespace tenon::optimization
