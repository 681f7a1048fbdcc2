// NaN and infinity are stopped where they arise, before they get into the weights or a checkpoint.
#pragma once

#include <span>
#include <string>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Throw Error(non_finite) naming the step, `after` (what went before), and the loss at its place in the run file, or
// the first parameter whose gradient is not finite; "" if that is not known.
[[noreturn]] void refuse_loss(const Training& training, size_t loss, double value, int64_t step,
                              const std::string& after);
[[noreturn]] void refuse_gradient(const Training& training, const std::string& parameter, int64_t step,
                                  const std::string& after);

// The name of the first tensor that holds NaN or infinity; "" if all are finite. Waits for the device.
std::string find_non_finite(std::span<const plugins::NamedTensor> tensors, bool only_trainable);

}  // namespace tenon::pipeline
