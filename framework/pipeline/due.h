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

  // To be asked once after each step. By time, it is due at the first step after the period has passed.
  bool now(const RunState& state) {
    const bool epoch_is_over = state.step_in_epoch == state.steps_per_epoch;
    switch (period_.unit) {
      case config::Period::Unit::never: return false;
      case config::Period::Unit::epochs:
        return epoch_is_over && std::fmod(static_cast<double>(state.epoch), period_.count) == 0;
      case config::Period::Unit::steps: return std::fmod(static_cast<double>(state.step), period_.count) == 0;
      case config::Period::Unit::seconds:
        if (state.time_s - last_s_ < period_.count) return false;
        last_s_ = state.time_s;
        return true;
    }
    return false;
  }

 private:
  config::Period period_;
  double last_s_ = 0;
};

}  // namespace tenon::pipeline
