// Removes denormal numbers from the state of optimizers. Processors need many times as long for them as for others.
#pragma once

#include <ATen/core/Tensor.h>

namespace tenon::optimization {

// Replaces the denormal elements by zeros of the same sign, if the tensor is float32 in host memory. REQUIRES: it has
// no gaps in memory.
void flush_denormals(const at::Tensor& tensor);

}  // namespace tenon::optimization
