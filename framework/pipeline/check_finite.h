// NaN and infinity are stopped where they arise, before they get into the weights or a checkpoint.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/pipeline/loss_meter.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Throws Error(non_finite) naming the loss, its place in the run file, and the step. A loss of no items is not looked
// at.
void check_losses(const Training& training, const std::vector<LossValue>& values, int64_t step);

// Throws Error(non_finite) naming the first parameter whose gradient is not finite, and the step. One wait for the
// device, whatever the number of parameters.
void check_gradients(const Training& training, int64_t step);

// The name of the first tensor that holds NaN or infinity; "" if all are finite.
std::string find_non_finite(std::span<const plugins::NamedTensor> tensors, bool only_trainable);

}  // namespace tenon::pipeline
