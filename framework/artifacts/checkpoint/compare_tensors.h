// Differences between two tensors of the same shape.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::artifacts {

struct TensorDifference {
  uint64_t elements = 0;    // number of elements of each tensor
  uint64_t differing = 0;   // elements with different bits, or with different values if the dtypes differ
  double max_absolute = 0;  // |a - b|; infinity if only one of the two is NaN, or one is infinite
  double max_relative = 0;  // |a - b| / max(|a|, |b|); 0 for two zeros, infinity if |a - b| is infinite
  // Units in the last place: the number of steps of the dtype from one value to the other. Only set if both tensors
  // have the same floating-point dtype. Pairs with a NaN are ignored.
  std::optional<uint64_t> max_ulps;
};

// REQUIRES: equal shapes. 0 and -0 differ in bits but have the difference 0. So do two NaNs with different payloads.
TensorDifference compare_tensors(const TensorView& a, const TensorView& b);

}  // namespace tenon::artifacts
