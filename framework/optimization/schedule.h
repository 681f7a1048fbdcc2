// The learning rate of every step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "framework/config/schedule_plan.h"
#include "framework/optimization/plateau.h"
#include "framework/optimization/schedule_shapes.h"
#include "framework/optimization/step_rates.h"

namespace tenon::optimization {

// A function of the step alone: nothing to save, and a resumed run needs only its step number. The one exception is
// reduce_on_plateau, which is told of a figure and has a state.
//
// Step 0 is the first optimizer step. The warm-up comes first: a line from warmup_start_factor times the rate with
// which the schedule begins to that rate, as torch.optim.lr_scheduler.SequentialLR with LinearLR. What a schedule
// counts, it counts from the end of the warm-up. With nothing but the closed form of each, rates are within a few
// roundings of PyTorch's schedulers, some of which compute each rate from the one before.
//
//   constant             the optimizer's lr
//   linear               LinearLR(1, end_factor)
//   cosine               CosineAnnealingLR (Loshchilov and Hutter, arXiv:1608.03983); stays at eta_min after its length
//   cosine_restarts      CosineAnnealingWarmRestarts (the same)
//   one_cycle            OneCycleLR (Smith and Topin, arXiv:1708.07120) over all steps after the warm-up. It has two
//                        surprises of its own: a run of one step uses the final rate, and a warmup_fraction of 0 starts
//                        one step below the peak. Where PyTorch divides by zero (a rise that is exactly one step long),
//                        that step is the peak. After the last step its rate is kept.
//   polynomial           PolynomialLR
//   step, multi_step     StepLR, MultiStepLR
//   exponential          ExponentialLR, between whole lengths too: lr * gamma^(step / every)
//   warmup_stable_decay  Hu et al., arXiv:2404.06395: lr, and at the run's end a fall to lr * end_factor
//   reduce_on_plateau    ReduceLROnPlateau
class Schedule {
 public:
  // base_lr: the optimizer's learning rate; one-cycle's peak. REQUIRES: both lengths are at least 1.
  static Schedule make(const config::SchedulePlan& plan, double base_lr, const RunLength& run);

  // REQUIRES: step >= 0.
  StepRates rates(int64_t step) const;

  // The figure to observe(), as the history calls it; null if the schedule goes by the step alone.
  const std::string* watched_figure() const { return plateau_ ? &plateau_->figure() : nullptr; }

  // Each new value of it. REQUIRES: watched_figure().
  void observe(double figure);

  // For a checkpoint; empty if the schedule goes by the step alone.
  std::map<std::string, double> state() const;
  // Throws Error(checkpoint) naming what is missing. Of a schedule that goes by the step alone nothing is read.
  void load_state(const std::map<std::string, double>& state);

 private:
  Schedule(const config::SchedulePlan& plan, double base_lr, const RunLength& run);

  int64_t warmup_steps_;
  double warmup_start_factor_;
  std::optional<Plateau> plateau_;
  Shape shape_;  // unless there is a plateau
};

}  // namespace tenon::optimization
