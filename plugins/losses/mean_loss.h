// Means that stay numbers where there is nothing to take them over.
#pragma once

#include <tenon/plugin.hpp>

namespace tenon::losses {

// Half precision holds neither the sum of a batch nor its weight.
inline Tensor to_float(const Tensor& input) {
  const int32_t dtype = input.dtype();
  return dtype == TENON_FLOAT16 || dtype == TENON_BFLOAT16 ? to_dtype(input, TENON_FLOAT32) : input;
}

// total / weight; 0 where the weight is 0, and so is its gradient.
inline LossResult mean_over(const Tensor& total, const Tensor& weight) {
  const Tensor is_empty = eq(weight, 0);
  return {masked_fill(total, is_empty, 0) / (weight + is_empty), weight};
}

inline LossResult mean_over(const Tensor& total, int64_t weight) {
  return {total / static_cast<double>(weight > 0 ? weight : 1), static_cast<double>(weight)};
}

// [C] numbers on the device and of the dtype of `like`. Does not wait for the device.
inline Tensor make_like(const std::vector<double>& numbers, const Tensor& like) {
  static const Op kTo("aten::to", "other");
  const Frame& frame = like.checked_frame();
  const Tensor made = frame.make<double>(numbers, {static_cast<int64_t>(numbers.size())});
  return frame.call(kTo, {made, like, /*non_blocking=*/true});
}

}  // namespace tenon::losses
