// The batch that is looked at before a run begins, and that a command on one batch works with.
#pragma once

#include "framework/data/batch.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Of the first epoch of the training data: the same each time, and with the same augmentations. Valid until the feed
// gives another. Null where none of its samples can be read.
const data::Batch* find_first_batch(Training& training);

// The same for a command that cannot do without. Throws Error(data) where there is none.
const data::Batch& read_first_batch(Training& training);

}  // namespace tenon::pipeline
