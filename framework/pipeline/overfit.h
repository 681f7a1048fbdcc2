// Whether a model can learn a few samples by heart: the first thing to try where training does not work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

struct OverfitReport {
  bool is_reached;     // the loss fell below the threshold
  int64_t steps;       // that were made
  double first_loss;   // of the first step, before its update
  double last_loss;    // of the last one
  double lowest_loss;  // of all
  int64_t samples;     // that were trained on
  // Parameters whose gradient was zero in every step, or that had none.
  std::vector<std::string> without_gradient;
  // Outputs of the model that are the same for each of the samples, in evaluation mode after the last step.
  std::vector<std::string> constant_outputs;
};

// Trains on the first batch of the training data again and again, with the same random numbers for its samples, at the
// optimizer's learning rate and without a schedule, until the loss is below `threshold` or `steps` are made. Throws as
// TrainStep does. REQUIRES: a plan with one batch a step.
OverfitReport overfit(Training& training, int64_t steps, double threshold);

}  // namespace tenon::pipeline
