// The learning rate range test: Smith, "Cyclical learning rates for training neural networks", arXiv:1506.01186.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

struct LearningRateTrial {
  double learning_rate;
  double loss;      // of the step that was made with it, before its update
  double smoothed;  // the mean of the losses so far, the last ones weighing most
};

struct LearningRateSearch {
  std::vector<LearningRateTrial> trials;
  bool diverged;                     // the loss grew beyond four times the lowest, which ended the search
  std::optional<double> suggestion;  // where the loss falls fastest; none where it never falls
};

// Makes `steps` steps with learning rates that grow from `first` to `last` by equal factors, over the training data as
// a run has it; ends where the loss is not finite, four times the lowest, or when `go_on` says no. The weights are of
// no use afterwards. Throws as TrainStep does, but for what is not finite. REQUIRES: 0 < first < last, steps >= 2.
LearningRateSearch search_learning_rate(Training& training, double first, double last, int64_t steps,
                                        const std::function<bool()>& go_on);

// Where the smoothed loss falls steepest over the logarithm of the rate, as a slope over a few trials.
std::optional<double> suggest_learning_rate(const std::vector<LearningRateTrial>& trials);

}  // namespace tenon::pipeline
