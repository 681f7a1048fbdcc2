// The losses of a model that knows nothing.
#pragma once

#include <optional>
#include <vector>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Of the batch with zeros in the place of the model's floating-point outputs; none where a loss refuses these. In
// evaluation mode, without gradients, and without leaving a trace in the random numbers.
std::optional<std::vector<plugins::Loss::Result>> compute_uninformed_losses(Training& training, DataFlow& data,
                                                                            const Flow& flow,
                                                                            plugins::RunPosition position);

}  // namespace tenon::pipeline
