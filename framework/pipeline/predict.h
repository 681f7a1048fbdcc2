// What a model gives for the samples of a dataset, batch by batch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// One batch: the numbers of its samples within the dataset, its fields as the batch transforms leave them, and the
// model's outputs. Borrowed for the call; row i of every tensor belongs to sample indices[i].
struct Prediction {
  std::span<const int64_t> indices;
  const Flow& flow;
};

// Runs the model in evaluation mode, without gradients, over all of the data in its order, each sample once; those that
// could not be read are left out. `take` gets each batch that has samples and says whether to go on. False if it did
// not. Losses and metrics of `training` are not used.
bool predict(Training& training, DataFlow& data, plugins::RunPosition position,
             const std::function<bool(const Prediction&)>& take);

}  // namespace tenon::pipeline
