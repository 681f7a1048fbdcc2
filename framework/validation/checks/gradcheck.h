// Gradcheck: compares gradients with numerical gradients, (f(x + h) - f(x - h)) / 2h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::validation {

struct NamedVariable {
  std::string name;
  at::Tensor tensor;  // float64, a leaf that requires grad
};

// `function` returns a float64 scalar that depends on the variables, the same each time. Compares the gradients of some
// elements of each variable with numerical gradients. The seed selects the elements. Returns the first difference;
// empty: none.
std::string compare_gradients(const std::function<at::Tensor()>& function, const std::vector<NamedVariable>& variables,
                              uint64_t seed);

}  // namespace tenon::validation
