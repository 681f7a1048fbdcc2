#include "framework/pipeline/build/total_steps.h"

#include <string>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

int64_t count_total_steps(const config::TrainSection& train, int64_t steps_per_epoch) {
  constexpr int64_t kMaxSteps = 1'000'000'000'000'000;
  if (train.steps > 0) return train.steps;
  if (train.epochs > kMaxSteps / steps_per_epoch)
    throw support::Error(support::ErrorKind::configuration,
                         train.place + ": train.epochs is " + std::to_string(train.epochs) + " with " +
                             support::format_count(steps_per_epoch, "step") +
                             " in each; expected at most 1e15 steps in total; use fewer epochs or a larger "
                             "data.batch_size");
  return train.epochs * steps_per_epoch;
}

}  // namespace tenon::pipeline
