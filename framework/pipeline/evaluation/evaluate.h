// Evaluates losses and metrics on validation or test data, each sample counted once.
#pragma once

#include <functional>
#include <optional>

#include "framework/pipeline/build/evaluation.h"

namespace tenon::pipeline {

// Runs the model over all of the data in evaluation mode, without gradients. Returns the metrics prefixed with the
// data's name: `validation/loss`, then each loss if there are several, then the metrics. Calls `after_batch(done)`
// after every batch; if it returns false, the evaluation stops and returns nothing.
std::optional<NamedMetrics> evaluate(Evaluation& evaluation, BoundDataset& data, components::StepContext context,
                                     const std::function<bool(int64_t)>& after_batch);

// The same with other metrics than those of the validation. `data` must be connected to them.
std::optional<NamedMetrics> evaluate(Evaluation& evaluation, MetricSet& metrics, BoundDataset& data,
                                     components::StepContext context, const std::function<bool(int64_t)>& after_batch);

}  // namespace tenon::pipeline
