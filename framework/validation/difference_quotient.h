// Gradients held to difference quotients: (f(x + h) - f(x - h)) / 2h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::validation {

struct NamedVariable {
  std::string name;
  at::Tensor tensor;  // float64, a leaf that requires gradients
};

// `function` gives a float64 scalar that depends on the variables, the same each time. Compares the gradients of some
// elements of each variable, chosen from the seed, with difference quotients. Returns what differs; empty: nothing.
std::string compare_gradients(const std::function<at::Tensor()>& function, const std::vector<NamedVariable>& variables,
                              uint64_t seed);

}  // namespace tenon::validation
