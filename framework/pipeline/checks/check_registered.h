// Finds weights that the first step does not train as the author of the model expects.
#pragma once

#include <ATen/core/Tensor.h>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Walks the autograd graph of `total`. Throws Error(plugin) if it contains a tensor that requires grad and is not a
// parameter of the model: it would silently be neither trained nor saved. Visits every node, so call it only in the
// first step.
void check_registered(const Training& training, const at::Tensor& total);

// Warns of trainable parameters without a gradient after the backward of the first step.
void warn_without_gradient(const Training& training);

}  // namespace tenon::pipeline
