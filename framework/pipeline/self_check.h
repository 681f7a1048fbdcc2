// Whether the lower precision of a run computes about what float32 does.
#pragma once

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Computes the losses of the first training batch in the run's precision and in float32, in evaluation mode and without
// gradients, and logs both; a warning where they differ by more than a tenth. Nothing of the training changes. Does
// nothing where the precision is no autocast. Throws Error(non_finite) for a loss that is finite in float32 alone.
void check_precision(Training& training);

}  // namespace tenon::pipeline
