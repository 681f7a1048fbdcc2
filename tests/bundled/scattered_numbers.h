// Weights by a formula that a script in Python has too, and what is compared of the tensors that come out.
#pragma once

#include <ATen/core/Tensor.h>

namespace tenon::bundled {

// Numbers in [-0.5, 0.5), float64, others for another salt: scatter() of the scripts in tests/parity.
at::Tensor scatter(at::IntArrayRef shape, int64_t salt);

// The norm and three of the elements, float64.
at::Tensor sketch(const at::Tensor& tensor);

// The largest difference, in parts of the largest number that there should be. Checks, with doctest, the shape.
double largest_difference(const at::Tensor& found, const at::Tensor& expected);

}  // namespace tenon::bundled
