// Runs the model and the losses on a batch, in the run's precision.
#pragma once

#include <string>
#include <vector>

#include "framework/data/sample_source.h"
#include "framework/pipeline/build/evaluation.h"
#include "framework/pipeline/build/training.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

// A batch norm of the model had one value per channel in training, so its variance is undefined.
class OneValuePerChannel : public support::Error {
 public:
  OneValuePerChannel(const std::string& place, const std::string& found);
  const std::string& found() const { return found_; }  // the message of the model

 private:
  std::string found_;
};

// Converts an input of the model to the memory format and dtype of its weights.
at::Tensor to_layout(config::Precision precision, config::MemoryFormat memory_format, at::Tensor input);

// Fills batch_tensors.outputs. Logs once for each dataset that padded images change the outputs. Throws
// OneValuePerChannel.
void run_model(Evaluation& evaluation, BoundDataset& data, BatchTensors& batch_tensors,
               const components::StepContext& context);

// Fills batch_tensors.results if one of the inputs needs them. REQUIRES: run_model() has filled the outputs.
void compute_results(const Evaluation& evaluation, const std::vector<Wiring>& inputs, BatchTensors& batch_tensors,
                     const components::StepContext& context);

// Returns one result per loss. `data`: the source of `batch_tensors`.
std::vector<components::Loss::Result> compute_losses(Evaluation& evaluation, BoundDataset& data,
                                                     const BatchTensors& batch_tensors,
                                                     const components::StepContext& context);

// The first batch of the first epoch of the training data: the same in each call, with the same augmentations. Valid
// until the feed returns another batch. Null if none of its samples can be read.
const data::Batch* find_first_batch(Training& training);

// The same, but throws Error(data) instead of returning null.
const data::Batch& read_first_batch(Training& training);

}  // namespace tenon::pipeline
