// The learning rate range test: Smith, "Cyclical learning rates for training neural networks", arXiv:1506.01186.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

struct LearningRateTrial {
  double learning_rate;
  double loss;      // of the step with this rate, before its update
  double smoothed;  // exponential moving average of the losses so far
};

struct LearningRateSearch {
  std::vector<LearningRateTrial> trials;
  bool diverged;                     // the loss exceeded four times its minimum, which ended the search
  std::optional<size_t> suggestion;  // the trial at which the loss falls fastest; none if it never falls
};

// Runs `steps` training steps while the learning rate grows geometrically from `first` to `last`. Ends early if the
// loss is not finite or exceeds four times its minimum, or if `should_continue` returns false. The weights are unusable
// afterwards. Throws as TrainStep does, except for non-finite values. REQUIRES: 0 < first < last, steps >= 2.
LearningRateSearch search_learning_rate(Training& training, double first, double last, int64_t steps,
                                        const std::function<bool()>& should_continue);

// Returns the index of the trial with the steepest descent of the smoothed loss over the logarithm of the rate, as
// Lightning's learning rate finder does. Slopes are fitted over a few trials. The first trials, in which the average is
// not yet stable, do not count. There is a suggestion if and only if the loss falls below the first that counts.
std::optional<size_t> suggest_learning_rate(const std::vector<LearningRateTrial>& trials);

}  // namespace tenon::pipeline
