// Tensors that fit a component's ports, made up from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/plugins/ports.h"

namespace tenon::validation {

// What ports leave open.
struct InputRecipe {
  int64_t extent;             // of a named dimension; others of the same component are one larger each, if `distinct`
  bool distinct;              // whether names get numbers of their own
  std::vector<int64_t> rest;  // what `...` stands for
  enum class Numbers { normal, unit } numbers;  // floating ones: of the normal distribution, or within [0.1, 0.9]

  std::string describe() const;  // "dimensions of 5 and more, ... = [8, 8]"
};

// From the likeliest on; only those that differ for these ports.
std::vector<InputRecipe> input_recipes(const std::vector<plugins::Port>& ports);

// Which dtype is taken where a port leaves the choice: `preferred` if it may be, else float32, int64 or what there is.
// The batch `N` has `batch` samples. Integers are 0 or 1, which fits class indices, tokens and flags alike.
std::vector<at::Tensor> make_inputs(const std::vector<plugins::Port>& ports, const InputRecipe& recipe, int64_t batch,
                                    uint64_t seed, int32_t preferred);

// Whether every floating port takes the dtype, and there is one.
bool takes(const std::vector<plugins::Port>& ports, int32_t dtype);
// Whether every floating port takes it, also where there is none: tokens go into a network of floats.
bool takes_where_floating(const std::vector<plugins::Port>& ports, int32_t dtype);

}  // namespace tenon::validation
