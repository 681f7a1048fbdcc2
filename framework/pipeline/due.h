// When a thing that happens "every 1 epoch", "500 steps" or "10 minutes" is due.
#pragma once

#include <cmath>
#include <cstdint>

#include "framework/config/run_plan.h"
#include "framework/pipeline/run_state.h"

namespace tenon::pipeline {

class Due {
 public:
  explicit Due(const config::Period& period) : period_(period) {}

  // To be asked once after each step. By time, it is due at the first step after the period has passed since the thing
  // last ended, see restart().
  bool now(const RunState& state) {
    const bool epoch_is_over = state.step_in_epoch == state.steps_per_epoch;
    switch (period_.unit) {
      case config::Period::Unit::never: return false;
      case config::Period::Unit::epochs:
        return epoch_is_over && std::fmod(static_cast<double>(state.epoch), period_.count) == 0;
      case config::Period::Unit::steps: return std::fmod(static_cast<double>(state.step), period_.count) == 0;
      case config::Period::Unit::seconds:
        if (state.time_s - counted_from_s_ < period_.count) return false;
        counted_from_s_ = state.time_s;  // until restart() says when the work was over
        return true;
    }
    return false;
  }

  // To be told whenever the thing has been done, due or not, with the time at its end. Counted from its beginning, one
  // that takes longer than its period would be due again at once, and training would get a single step in between.
  void restart(const RunState& state) { counted_from_s_ = state.time_s; }

 private:
  config::Period period_;
  double counted_from_s_ = 0;
};

}  // namespace tenon::pipeline
