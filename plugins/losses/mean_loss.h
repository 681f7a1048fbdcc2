// Means that are not NaN if there are no items.
#pragma once

#include <tenon/plugin.hpp>

namespace tenon::losses {

// Half precision cannot represent the sum of a batch or its weight.
inline Tensor to_float(const Tensor& input) {
  const int32_t dtype = input.dtype();
  return dtype == TENON_FLOAT16 || dtype == TENON_BFLOAT16 ? to_dtype(input, TENON_FLOAT32) : input;
}

// total / weight. If the weight is 0, the value and its gradient are 0.
inline LossResult mean_over(const Tensor& total, const Tensor& weight) {
  const Tensor is_empty = eq(weight, 0);
  return {masked_fill(total, is_empty, 0) / (weight + is_empty), weight};
}

inline LossResult mean_over(const Tensor& total, int64_t weight) {
  return {total / static_cast<double>(weight > 0 ? weight : 1), static_cast<double>(weight)};
}

// [C] numbers with the device and dtype of `like`. Does not synchronise with the device.
inline Tensor make_like(const std::vector<double>& numbers, const Tensor& like) {
  const Frame& frame = like.checked_frame();
  return to_like(frame.make<double>(numbers, {static_cast<int64_t>(numbers.size())}), like, /*non_blocking=*/true);
}

}  // namespace tenon::losses
