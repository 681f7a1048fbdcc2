// Random tensors that fit a component's ports, derived from a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/calls/ports.h"

namespace tenon::validation {

// A choice for everything that the ports leave open.
struct InputRecipe {
  int64_t extent;             // of a named dimension; with `distinct`, each further name gets an extent one larger
  bool distinct;              // whether each name gets a different extent
  std::vector<int64_t> rest;  // the extents of `...`
  enum class Numbers { normal, unit } numbers;  // floating-point values: normally distributed, or within [0.1, 0.9]

  std::string describe() const;  // "dimensions of 5 and more, ... = [8, 8]"
};

// The most likely recipe comes first. Recipes that give equal inputs for these ports are left out.
std::vector<InputRecipe> input_recipes(const std::vector<components::Port>& ports);

// Tries the recipes for these ports until `attempt` returns true, and returns whether it did. The error of a recipe
// that the plugin refuses becomes `last_error`; an exception that escapes from the plugin is rethrown.
bool try_recipes(const std::vector<components::Port>& ports, const std::function<bool(const InputRecipe&)>& attempt,
                 std::string& last_error);

// If a port allows several dtypes, the input has `preferred` if allowed, else float32, int64 or the first allowed one.
// The batch dimension `N` is `batch`. Integers are 0 or 1, which suits class indices, tokens and flags.
std::vector<at::Tensor> make_inputs(const std::vector<components::Port>& ports, const InputRecipe& recipe,
                                    int64_t batch, uint64_t seed, int32_t preferred);

// Whether there are floating-point ports and all of them accept the dtype.
bool takes(const std::vector<components::Port>& ports, int32_t dtype);
// As takes(), but also true without floating-point ports: a network of floats may have token inputs.
bool takes_where_floating(const std::vector<components::Port>& ports, int32_t dtype);

}  // namespace tenon::validation
