// Computes the first training batch before the first step, to check what the run file alone does not show.
#pragma once

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Computes the losses of the first training batch in the run's precision and in float32, in evaluation mode and without
// gradients. Logs both, with a warning if they differ by more than 10 %. Does not change the training state. Does
// nothing if the precision does not use autocast. Throws Error(non_finite) for a loss that is finite only in float32.
void check_precision(Training& training);

// Computes the outputs and losses of the first training batch, in evaluation mode and without gradients, so that an
// input of a model or a loss with another size than expected is found without training. Does not change the training
// state. Throws what the first step would throw.
void check_first_batch(Training& training);

}  // namespace tenon::pipeline
