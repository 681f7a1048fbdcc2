/* Arithmetic and reductions. Functions are elementwise with broadcasting unless a comment states otherwise. */
#ifndef TENON_OPS_ARITHMETIC_H
#define TENON_OPS_ARITHMETIC_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

TENON_INLINE tenon_tensor* tenon_add(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_add(), left, right);
}

TENON_INLINE tenon_tensor* tenon_sub(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_sub(), left, right);
}

TENON_INLINE tenon_tensor* tenon_mul(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_mul(), left, right);
}

TENON_INLINE tenon_tensor* tenon_div(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_div(), left, right);
}

/* The scalar forms keep the dtype of input, as in PyTorch. number is tenon_float(...) or tenon_int(...). */
TENON_INLINE tenon_tensor* tenon_add_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_add_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_sub_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_sub_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_mul_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_mul_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_div_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_div_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_pow_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value exponent) {
  return tenon_apply_with(calls, tenon_operator_pow_scalar(), input, exponent);
}

/* target += amount, in place. A metric adds to its states with it. */
TENON_INLINE tenon_tensor* tenon_add_in_place(tenon_calls* calls, tenon_tensor* target, tenon_tensor* amount) {
  return tenon_apply_binary(calls, tenon_operator_add_in_place(), target, amount);
}

TENON_INLINE tenon_tensor* tenon_add_scalar_in_place(tenon_calls* calls, tenon_tensor* target, tenon_value amount) {
  return tenon_apply_with(calls, tenon_operator_add_scalar_in_place(), target, amount);
}

/* target *= factor, in place. */
TENON_INLINE tenon_tensor* tenon_mul_in_place(tenon_calls* calls, tenon_tensor* target, tenon_tensor* factor) {
  return tenon_apply_binary(calls, tenon_operator_mul_in_place(), target, factor);
}

TENON_INLINE tenon_tensor* tenon_neg(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_neg(), input);
}

TENON_INLINE tenon_tensor* tenon_abs(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_abs(), input);
}

TENON_INLINE tenon_tensor* tenon_exp(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_exp(), input);
}

/* Natural logarithm. */
TENON_INLINE tenon_tensor* tenon_log(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_log(), input);
}

TENON_INLINE tenon_tensor* tenon_sqrt(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_sqrt(), input);
}

/* 1 / sqrt(input). */
TENON_INLINE tenon_tensor* tenon_rsqrt(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_rsqrt(), input);
}

TENON_INLINE tenon_tensor* tenon_sin(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_sin(), input);
}

TENON_INLINE tenon_tensor* tenon_cos(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_cos(), input);
}

/* The largest integer that is not larger. Its gradient is 0. */
TENON_INLINE tenon_tensor* tenon_floor(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_floor(), input);
}

/* 1 / input. */
TENON_INLINE tenon_tensor* tenon_reciprocal(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_reciprocal(), input);
}

TENON_INLINE tenon_tensor* tenon_maximum(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_maximum(), left, right);
}

TENON_INLINE tenon_tensor* tenon_minimum(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_minimum(), left, right);
}

/* Either bound may be tenon_none(). */
TENON_INLINE tenon_tensor* tenon_clamp(tenon_calls* calls, tenon_tensor* input, tenon_value minimum,
                                       tenon_value maximum) {
  const tenon_value args[3] = {tenon_tensor_value(input), minimum, maximum};
  return tenon_apply(calls, tenon_operator_clamp(), args, 3);
}

/* max(element, minimum), elementwise. */
TENON_INLINE tenon_tensor* tenon_clamp_min(tenon_calls* calls, tenon_tensor* input, tenon_value minimum) {
  return tenon_apply_with(calls, tenon_operator_clamp_min(), input, minimum);
}

/* min(element, maximum), elementwise. */
TENON_INLINE tenon_tensor* tenon_clamp_max(tenon_calls* calls, tenon_tensor* input, tenon_value maximum) {
  return tenon_apply_with(calls, tenon_operator_clamp_max(), input, maximum);
}

/* The sum of all elements as a scalar. For booleans it is their count as int64. */
TENON_INLINE tenon_tensor* tenon_sum(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_sum(), input);
}

/* The sum over the listed dimensions. They are removed, or kept with extent 1 if keep_dims is not 0. */
TENON_INLINE tenon_tensor* tenon_sum_dims(tenon_calls* calls, tenon_tensor* input, const int64_t* dims,
                                          uint64_t dims_count, int keep_dims) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_ints(dims, dims_count), tenon_bool(keep_dims)};
  return tenon_apply(calls, tenon_operator_sum_dims(), args, 3);
}

/* The mean of all elements as a scalar. */
TENON_INLINE tenon_tensor* tenon_mean(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_mean(), input);
}

/* The mean over the listed dimensions, like tenon_sum_dims. */
TENON_INLINE tenon_tensor* tenon_mean_dims(tenon_calls* calls, tenon_tensor* input, const int64_t* dims,
                                           uint64_t dims_count, int keep_dims) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_ints(dims, dims_count), tenon_bool(keep_dims)};
  return tenon_apply(calls, tenon_operator_mean_dims(), args, 3);
}

/* The largest element over the listed dimensions, like tenon_sum_dims. */
TENON_INLINE tenon_tensor* tenon_amax(tenon_calls* calls, tenon_tensor* input, const int64_t* dims, uint64_t dims_count,
                                      int keep_dims) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_ints(dims, dims_count), tenon_bool(keep_dims)};
  return tenon_apply(calls, tenon_operator_amax(), args, 3);
}

/* The smallest element over the listed dimensions, like tenon_sum_dims. */
TENON_INLINE tenon_tensor* tenon_amin(tenon_calls* calls, tenon_tensor* input, const int64_t* dims, uint64_t dims_count,
                                      int keep_dims) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_ints(dims, dims_count), tenon_bool(keep_dims)};
  return tenon_apply(calls, tenon_operator_amin(), args, 3);
}

/* Cumulative sums along a dimension. */
TENON_INLINE tenon_tensor* tenon_cumsum(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_apply(calls, tenon_operator_cumsum(), args, 2);
}

/* Matrix product of the last two dimensions, batched over the others: [..., N, K] x [..., K, M] to [..., N, M]. */
TENON_INLINE tenon_tensor* tenon_matmul(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_matmul(), left, right);
}

#ifdef __cplusplus
}
#endif
#endif
