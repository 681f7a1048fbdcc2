// Weights from a formula that the Python scripts also use, and a sketch of tensors for comparison.
#pragma once

#include <ATen/core/Tensor.h>

namespace tenon::bundled {

// Returns pseudorandom numbers in [-0.5, 0.5), float64, like scatter() in tests/parity. Each salt gives other numbers.
at::Tensor scatter(at::IntArrayRef shape, int64_t salt);

// Returns the norm and three of the elements, float64.
at::Tensor sketch(const at::Tensor& tensor);

// Returns the largest difference, relative to the largest expected number. Checks the shape with doctest.
double largest_difference(const at::Tensor& found, const at::Tensor& expected);

}  // namespace tenon::bundled
