// Reduces the learning rate when a metric stops improving.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "framework/config/plan/schedule_plan.h"

namespace tenon::optimization {

// Same as torch.optim.lr_scheduler.ReduceLROnPlateau.
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
  void reduce();

  config::PlateauSchedule plan_;
  double learning_rate_;
  double best_;
  int64_t num_bad_epochs_ = 0;
  int64_t cooldown_counter_ = 0;
};

}  // namespace tenon::optimization
