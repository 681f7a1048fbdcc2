// Weights that a model uses and did not register: they would neither be trained nor saved, and nothing else shows it.
#pragma once

#include <ATen/core/Tensor.h>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Walks the graph behind `total`. Throws Error(plugin) if a tensor that wants gradients is in it and is no parameter of
// the model. For the first step: it looks at every operator.
void check_registered(const Training& training, const at::Tensor& total);

}  // namespace tenon::pipeline
