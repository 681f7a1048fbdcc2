// A pass over validation data: losses and metrics, each sample counted once.
#pragma once

#include <functional>
#include <optional>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Runs the model in evaluation mode, without gradients, over all of the data. Returns the figures with the data's name
// in front: `validation/loss`, then each loss where there are several, then the metrics. `after_batch(done)` is called
// after every batch and says whether to go on; nothing is returned if it did not.
std::optional<NamedFigures> evaluate(Training& training, DataFlow& data, plugins::RunPosition position,
                                     const std::function<bool(int64_t)>& after_batch);

}  // namespace tenon::pipeline
