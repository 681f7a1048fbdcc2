// Gradcheck: compares gradients with numerical gradients, (f(x + h) - f(x - h)) / 2h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/validation/session/session.h"

namespace tenon::validation {

struct NamedVariable {
  std::string name;
  at::Tensor tensor;  // float64, a leaf that requires grad
};

struct GradientComparison {
  std::string difference;   // the first gradient that differs from the numerical one; empty: none
  size_t compared = 0;      // elements
  size_t inconclusive = 0;  // of them, those with a numerical gradient that depends on the step size
};

// `function` returns a float64 scalar that depends on the variables, the same each time. Compares the gradients of some
// elements of each variable with numerical gradients, up to the first difference. The seed selects the elements.
GradientComparison compare_gradients(const std::function<at::Tensor()>& function,
                                     const std::vector<NamedVariable>& variables, uint64_t seed);

// The same for a check: throws Failed for a difference, and warns of inconclusive elements.
void require_equal_gradients(Session& session, const std::function<at::Tensor()>& function,
                             const std::vector<NamedVariable>& variables);

}  // namespace tenon::validation
