// All losses of a batch, as tensors for backward and as numbers for people.
#pragma once

#include <vector>

#include "framework/pipeline/loss_meter.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

struct ComputedLosses {
  std::vector<plugins::Loss::Result> results;
  std::vector<LossValue> values;  // waits for the device
};

// `data` is where `flow` comes from. Throws Error(plugin) for a weight that is negative or not finite.
ComputedLosses compute_losses(Training& training, DataFlow& data, const Flow& flow,
                              const plugins::RunPosition& position);

}  // namespace tenon::pipeline
