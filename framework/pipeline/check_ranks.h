// Whether the ranks train the same model.
#pragma once

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Compares the model's tensors over the ranks, bit by bit. Throws Error(plugin) naming the first that differs, on all.
// One process alone agrees with itself.
void check_ranks(const Training& training);

}  // namespace tenon::pipeline
