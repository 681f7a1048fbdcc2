// What the kernels ask of parameters and gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include "framework/optimization/optimizer.h"

namespace tenon::optimization {

// Throws Error(plugin) naming the parameter if it is not floating point, or its elements do not fill its memory.
void check_parameter(const NamedTensor& parameter);

// The gradient with its elements in the order of the parameter's memory. Throws Error(plugin) if it is sparse.
at::Tensor laid_out_as(const NamedTensor& parameter, const at::Tensor& gradient);

}  // namespace tenon::optimization
