// Finds a batch norm that would get one value per channel in training, before the run reaches that batch.
#pragma once

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// If some batch of an epoch has 1 sample on some rank, runs the model on a fake sample in training mode, without
// gradients. Leaves weights, buffers and random states unchanged. Reads no sample, so it does nothing if the sizes of
// the model's inputs differ between samples; the step then throws. Throws Error(configuration) with the place in the
// run file if a batch norm gets one value per channel. Every rank gets the same result.
void check_batch_norm(Training& training);

}  // namespace tenon::pipeline
