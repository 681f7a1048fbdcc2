// Stops NaN and infinity where they arise, before they reach the weights or a checkpoint.
#pragma once

#include <span>
#include <string>

#include "framework/pipeline/build/training.h"
#include "framework/pipeline/losses/loss_sums.h"

namespace tenon::pipeline {

// Throw Error(non_finite). The message names the step, and either the loss and its location in the run file or the
// first parameter with a non-finite gradient. `after`: text that follows the step, such as the number of skipped steps
// before it. `parameter`: "" if unknown.
[[noreturn]] void refuse_loss(const Training& training, size_t loss, double value, int64_t step,
                              const std::string& after);
[[noreturn]] void refuse_gradient(const Training& training, const std::string& parameter, int64_t step,
                                  const std::string& after);

// `sums`: of the first epoch. Warns of a loss without items. Throws Error(non_finite) if no loss had any:
// the model was not trained.
void check_items(const Training& training, const LossSums& sums);

// The name of the first tensor that holds NaN or infinity; "" if all are finite. Synchronises with the device once.
std::string find_non_finite(std::span<const plugins::NamedTensor> tensors, bool only_trainable);

}  // namespace tenon::pipeline
