// Compares the loss of a run's first batch with the zero-output baseline.
#pragma once

#include <optional>
#include <vector>

#include "framework/pipeline/build/training.h"
#include "framework/pipeline/state/run_state.h"

namespace tenon::pipeline {

class FirstLossCheck {
 public:
  // `training` must outlive the object.
  explicit FirstLossCheck(Training& training) : training_(training), readback_(make_readback(training)) {}

  // Computes the losses of the batch with the model's floating-point outputs set to zero. Runs the losses in evaluation
  // mode, without gradients, and leaves the random state unchanged. There is no result if a loss rejects zeros.
  // `results`: the losses of the batch.
  void start(BoundDataset& data, const BatchTensors& batch_tensors,
             const std::vector<components::Loss::Result>& results, components::StepContext context);

  // Nothing until the values have reached the host; never blocks.
  const std::optional<FirstLoss>& result();
  void drain() { readback_.drain(); }  // waits for the values

 private:
  Training& training_;
  Readback readback_;
  std::optional<FirstLoss> result_;
};

}  // namespace tenon::pipeline
