// The step counters that Adam, RMSprop and Adagrad keep for each parameter, [] float32 on its device.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::optimization {

// Adds one. The kernels expect counts that include the current step.
void advance(std::vector<at::Tensor>& steps);

// Reverts advance() if skip, [] float32 on the counters' device, is 1. Does nothing if skip is undefined.
void correct(std::vector<at::Tensor>& steps, const at::Tensor& skip);

}  // namespace tenon::optimization
