// Runs a model over a dataset, batch by batch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "framework/pipeline/build/evaluation.h"

namespace tenon::pipeline {

// One batch: the indices of its samples in the dataset, its fields after the batch transforms, and the model's outputs.
// Borrowed for the call; row i of every tensor belongs to sample indices[i].
struct Prediction {
  std::span<const int64_t> indices;
  const BatchTensors& batch_tensors;
};

// Runs the model in evaluation mode, without gradients, over all of the data in its order, each sample once. Samples
// that cannot be read are left out. `take` receives each batch that has samples and returns whether to continue.
// Returns false if it stopped. Does not use the losses and metrics of `evaluation`.
//
// The batches are the same for any number of processes: process r of w takes the batches r, r + w, ... `take` is then
// called equally often in each process, without samples (and with empty tensors) where a process has no batch. It must
// return the same in all of them.
bool predict(Evaluation& evaluation, BoundDataset& data, components::StepContext context,
             const std::function<bool(const Prediction&)>& take);

}  // namespace tenon::pipeline
