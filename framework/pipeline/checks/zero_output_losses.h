// The losses of the zero-output baseline.
#pragma once

#include <optional>
#include <vector>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Computes the losses of the batch with the model's floating-point outputs set to zero; nothing if a loss rejects
// these. Runs in evaluation mode, without gradients, and leaves the random state unchanged.
std::optional<std::vector<plugins::Loss::Result>> compute_zero_output_losses(Training& training, BoundDataset& data,
                                                                             const BatchTensors& batch_tensors,
                                                                             plugins::StepContext context);

}  // namespace tenon::pipeline
