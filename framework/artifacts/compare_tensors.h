// How far two tensors of one shape are apart.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/artifacts/tensor_view.h"

namespace tenon::artifacts {

struct TensorDifference {
  uint64_t elements = 0;    // of each tensor
  uint64_t differing = 0;   // elements whose bits are not the same; where the dtypes differ, whose values are not
  double max_absolute = 0;  // |a - b|; infinity where one of the two is NaN and the other is not, or one is infinite
  double max_relative = 0;  // |a - b| / max(|a|, |b|); 0 of two zeros, infinity where |a - b| is
  // Units in the last place: how many numbers of the dtype lie from one to the other. Where both have one floating
  // dtype; pairs with a NaN are left out.
  std::optional<uint64_t> max_ulps;
};

// REQUIRES: equal shapes. 0 and -0, and two NaNs of other payloads, differ in bits and are 0 apart.
TensorDifference compare_tensors(const TensorView& a, const TensorView& b);

}  // namespace tenon::artifacts
