// Tests whether a model can overfit a few samples: the first thing to try if training does not work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

struct OverfitReport {
  bool is_reached;     // the loss fell below the threshold
  int64_t steps;       // number of steps run
  double first_loss;   // in the first step, before its update
  double last_loss;    // in the last step
  double lowest_loss;  // over all steps
  int64_t samples;     // number of training samples
  // Parameters without a gradient, or with a zero gradient in every step.
  std::vector<std::string> without_gradient;
  // Outputs of the model that are equal for all samples, in evaluation mode after the last step.
  std::vector<std::string> constant_outputs;
};

// Trains repeatedly on the first training batch, with the same random numbers for its samples and a constant learning
// rate. Stops when the loss is below `threshold` or after `steps` steps. Throws as TrainStep does. REQUIRES: a plan
// with one batch per step.
OverfitReport overfit(Training& training, int64_t steps, double threshold);

}  // namespace tenon::pipeline
