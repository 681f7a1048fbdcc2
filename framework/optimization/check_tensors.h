// Checks that parameters and gradients have a layout that the kernels support.
#pragma once

#include <ATen/core/Tensor.h>

#include "framework/optimization/optimizer.h"

namespace tenon::optimization {

// Throws Error(plugin) naming the parameter if it is not floating point, or if its memory has gaps or overlaps.
void check_parameter(const NamedTensor& parameter);

// Returns the gradient in the memory layout of the parameter. Throws Error(plugin) if it is sparse.
at::Tensor laid_out_as(const NamedTensor& parameter, const at::Tensor& gradient);

}  // namespace tenon::optimization
