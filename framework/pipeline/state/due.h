// Decides when an action with a period ("every 1 epoch", "500 steps", "10 minutes") is due.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "framework/config/plan/run_plan.h"
#include "framework/pipeline/state/run_state.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::pipeline {

class Due {
 public:
  explicit Due(const config::Period& period) : period_(period) {}

  // Returns whether the action is due at this step. Call it once after each step. With a time period, the action is
  // due at the first step after the period has passed since its last end, see restart(). `time_s`: since run_start, by
  // a clock that all ranks share.
  bool advance(const RunState& state, double time_s) {
    switch (period_.unit) {
      case config::Period::Unit::never: return false;
      case config::Period::Unit::epochs:
        if (period_.is_fraction()) return pass_part(state);
        return state.is_epoch_complete && std::fmod(static_cast<double>(state.epoch), period_.count) == 0;
      case config::Period::Unit::steps:
        // A step without readable samples is not counted.
        if (state.step == last_step_) return false;
        last_step_ = state.step;
        return std::fmod(static_cast<double>(state.step), period_.count) == 0;
      case config::Period::Unit::seconds:
        if (time_s - counted_from_s_ < period_.count) return false;
        counted_from_s_ = time_s;  // until restart() sets the end of the action
        return true;
    }
    return false;
  }

  // Whether advance() will return true after the next step, as far as this is known before it. REQUIRES: the period is
  // not a part of an epoch.
  bool is_due_next(const RunState& state, double time_s) const {
    switch (period_.unit) {
      case config::Period::Unit::steps: return std::fmod(static_cast<double>(state.step + 1), period_.count) == 0;
      case config::Period::Unit::epochs: return state.is_epoch_complete;
      case config::Period::Unit::seconds: return time_s - counted_from_s_ >= period_.count;
      default: return false;
    }
  }

  // Call it whenever the action has been done, due or not, with the time of its end. If the period started at the
  // beginning of the action, an action longer than its period would be due again after a single step.
  void restart(double time_s) { counted_from_s_ = time_s; }

  // Stored under `name`, for resuming a run.
  void save(const std::string& name, SavedState& saved) const {
    saved.numbers[name + ".counted_from_s"] = counted_from_s_;
    saved.numbers[name + ".last_step"] = static_cast<double>(last_step_);
    if (period_.is_fraction()) saved.numbers[name + ".passed_epochs"] = passed_epochs_;
  }
  void load(const std::string& name, const SavedState& saved) {
    counted_from_s_ = saved.number(name + ".counted_from_s");
    last_step_ = saved.count(name + ".last_step");
    // A run may resume with another period than that of the checkpoint.
    const auto passed = saved.numbers.find(name + ".passed_epochs");
    passed_epochs_ = passed == saved.numbers.end() ? -1 : passed->second;
  }

 private:
  // The number of parts of the period in so many epochs. Each epoch starts with a new part, and its last part may be
  // shorter: of 0.3 epochs, an epoch has three whole ones.
  double count_parts(double epochs) const {
    constexpr double kRounding = 1e-9;
    const auto count = [&](double share) { return std::floor(share / period_.count + kRounding); };
    const double whole = std::floor(epochs);
    return whole * count(1) + count(epochs - whole);
  }

  // Whether a part ended since the last call. Without a last call, it was one step ago.
  bool pass_part(const RunState& state) {
    const auto epochs_at = [&](int64_t step) {
      const double share = static_cast<double>(step) / static_cast<double>(state.steps_per_epoch);
      return static_cast<double>(state.epoch - 1) + std::min(share, 1.0);
    };
    // Unreadable batches leave an epoch with fewer steps.
    const double epochs = state.is_epoch_complete ? static_cast<double>(state.epoch) : epochs_at(state.step_in_epoch);
    const double before = passed_epochs_ < 0 ? epochs_at(state.step_in_epoch - 1) : passed_epochs_;
    passed_epochs_ = epochs;
    return count_parts(epochs) > count_parts(before);
  }

  config::Period period_;
  double counted_from_s_ = 0;
  int64_t last_step_ = 0;      // of the last call of advance()
  double passed_epochs_ = -1;  // at the last call of advance(), for parts of an epoch; below 0: none
};

}  // namespace tenon::pipeline
