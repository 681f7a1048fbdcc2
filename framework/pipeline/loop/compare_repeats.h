// Compares a replayed batch with the batch itself.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::pipeline {

// Whether `replayed` has the numbers of `usual`. `again`: those of a second usual run. Operators with atomic additions
// do not repeat exactly, so differences are allowed up to 10 times the largest one between the two usual runs, of any
// tensor, plus 4 units in the last place of the tensor's dtype. The difference of two tensors is the largest one of
// their elements, relative to the largest absolute value of `usual`. One pair of runs does not show which tensors
// differ in another, so all tensors have the same limit. The lists have tensors of the same shapes and dtypes. Waits
// for the device.
bool is_repeated(const std::vector<at::Tensor>& usual, const std::vector<at::Tensor>& again,
                 const std::vector<at::Tensor>& replayed);

}  // namespace tenon::pipeline
