// The counters of steps that Adam, RMSprop and Adagrad keep for each parameter, [] float32 on its device.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::optimization {

// One more; the kernels expect counts that include the step under way.
void advance(std::vector<at::Tensor>& steps);

// Takes back what advance() did where skip, [] float32 on their device, is 1; nothing if it is undefined.
void correct(std::vector<at::Tensor>& steps, const at::Tensor& skip);

}  // namespace tenon::optimization
