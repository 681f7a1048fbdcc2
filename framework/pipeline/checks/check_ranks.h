// Checks that all ranks train the same model.
#pragma once

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Compares the model's tensors bit by bit between ranks. Throws Error(plugin) on all ranks, naming the first tensor
// that differs. Does nothing in a single process.
void check_ranks(const Training& training);

}  // namespace tenon::pipeline
