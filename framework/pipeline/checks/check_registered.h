// Finds weights that a model uses but did not register. Without this check they would silently be neither trained nor
// saved.
#pragma once

#include <ATen/core/Tensor.h>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Walks the autograd graph of `total`. Throws Error(plugin) if it contains a tensor that requires grad and is not a
// parameter of the model. Visits every node, so call it only in the first step.
void check_registered(const Training& training, const at::Tensor& total);

}  // namespace tenon::pipeline
