// Runs the model and the losses on a batch, in the run's precision.
#pragma once

#include <vector>

#include "framework/pipeline/build/evaluation.h"

namespace tenon::pipeline {

// Fills batch_tensors.outputs.
void run_model(Evaluation& evaluation, BoundDataset& data, BatchTensors& batch_tensors,
               const plugins::StepContext& context);

// Returns one result per loss. `data`: the source of `batch_tensors`.
std::vector<plugins::Loss::Result> compute_losses(Evaluation& evaluation, BoundDataset& data,
                                                  const BatchTensors& batch_tensors,
                                                  const plugins::StepContext& context);

}  // namespace tenon::pipeline
