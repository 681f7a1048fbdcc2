// Checks that a run's lower precision gives about the same losses as float32.
#pragma once

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Computes the losses of the first training batch in the run's precision and in float32, in evaluation mode and without
// gradients. Logs both, with a warning if they differ by more than 10 %. Does not change the training state. Does
// nothing if the precision does not use autocast. Throws Error(non_finite) for a loss that is finite only in float32.
void check_precision(Training& training);

}  // namespace tenon::pipeline
