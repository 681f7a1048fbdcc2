// The first training batch, for checks before a run and for commands that use one batch.
#pragma once

#include "framework/data/batch.h"
#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// The first batch of the first epoch of the training data: the same in each call, with the same augmentations. Valid
// until the feed returns another batch. Null if none of its samples can be read.
const data::Batch* find_first_batch(Training& training);

// The same, but throws Error(data) instead of returning null.
const data::Batch& read_first_batch(Training& training);

}  // namespace tenon::pipeline
