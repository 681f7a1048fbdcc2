#include "framework/pipeline/state/step_count.h"

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

__extension__ using Int128 = __int128;

constexpr const char* kStepsPerEpoch = "steps_per_epoch";
// Only there after a change.
constexpr const char* kFirstStepsPerEpoch = "steps_per_epoch.first";
constexpr const char* kChangedInEpoch = "steps_per_epoch.changed_in_epoch";
constexpr const char* kEpochEndsAfter = "steps_per_epoch.epoch_ends_after";

// Rounded down. REQUIRES: divisor > 0.
int64_t divide_down(Int128 dividend, int64_t divisor) {
  const Int128 rounded = dividend / divisor;
  return static_cast<int64_t>(rounded - (rounded * divisor > dividend ? 1 : 0));
}

}  // namespace

int64_t StepCount::position(int64_t step) const {
  return epoch_ * first_ + divide_down(Int128{step - step_} * first_, now_);
}

void StepCount::change(int64_t steps_per_epoch, int64_t epoch, int64_t step) {
  TENON_CHECK(steps_per_epoch >= 1, "steps_per_epoch " << steps_per_epoch);
  now_ = steps_per_epoch;
  epoch_ = epoch;
  step_ = step;
}

void StepCount::save(SavedState& saved) const {
  saved.numbers[kStepsPerEpoch] = static_cast<double>(now_);
  if (epoch_ == 0 && step_ == 0 && first_ == now_) return;
  saved.numbers[kFirstStepsPerEpoch] = static_cast<double>(first_);
  saved.numbers[kChangedInEpoch] = static_cast<double>(epoch_);
  saved.numbers[kEpochEndsAfter] = static_cast<double>(step_);
}

void StepCount::load(const SavedState& saved) {
  first_ = now_ = saved.count(kStepsPerEpoch);
  if (saved.numbers.contains(kFirstStepsPerEpoch)) {
    first_ = saved.count(kFirstStepsPerEpoch);
    epoch_ = saved.count(kChangedInEpoch);
    step_ = saved.count(kEpochEndsAfter);
  }
  TENON_CHECK(first_ >= 1 && now_ >= 1, "steps_per_epoch " << first_ << " and " << now_);
}

int64_t count_total_steps(const config::TrainSection& train, int64_t steps_per_epoch) {
  constexpr int64_t kMaxSteps = 1'000'000'000'000'000;
  if (train.steps > 0) return train.steps;
  if (train.epochs > kMaxSteps / steps_per_epoch)
    throw support::Error(support::ErrorKind::configuration,
                         "{}: train.epochs is {} with {} in each; expected at most 1e15 steps in total; use fewer "
                         "epochs or a larger data.batch_size",
                         train.place, train.epochs, support::format_count(steps_per_epoch, "step"));
  return train.epochs * steps_per_epoch;
}

}  // namespace tenon::pipeline
