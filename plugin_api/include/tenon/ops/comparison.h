/* Comparisons, which return booleans, logical operators, and selection. */
#ifndef TENON_OPS_COMPARISON_H
#define TENON_OPS_COMPARISON_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

TENON_INLINE tenon_tensor* tenon_eq(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_eq(), left, right);
}

TENON_INLINE tenon_tensor* tenon_ne(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_ne(), left, right);
}

TENON_INLINE tenon_tensor* tenon_gt(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_gt(), left, right);
}

TENON_INLINE tenon_tensor* tenon_ge(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_ge(), left, right);
}

TENON_INLINE tenon_tensor* tenon_lt(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_lt(), left, right);
}

TENON_INLINE tenon_tensor* tenon_le(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_le(), left, right);
}

TENON_INLINE tenon_tensor* tenon_eq_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_eq_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_ne_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_ne_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_gt_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_gt_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_ge_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_ge_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_lt_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_lt_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_le_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value number) {
  return tenon_apply_with(calls, tenon_operator_le_scalar(), input, number);
}

TENON_INLINE tenon_tensor* tenon_logical_and(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_logical_and(), left, right);
}

TENON_INLINE tenon_tensor* tenon_logical_or(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_apply_binary(calls, tenon_operator_logical_or(), left, right);
}

TENON_INLINE tenon_tensor* tenon_logical_not(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_logical_not(), input);
}

/* Selects elementwise: if_true where condition is true, otherwise if_false. */
TENON_INLINE tenon_tensor* tenon_where(tenon_calls* calls, tenon_tensor* condition, tenon_tensor* if_true,
                                       tenon_tensor* if_false) {
  const tenon_value args[3] = {tenon_tensor_value(condition), tenon_tensor_value(if_true),
                               tenon_tensor_value(if_false)};
  return tenon_apply(calls, tenon_operator_where(), args, 3);
}

/* The index of the largest element along a dimension, as int64. The dimension is removed. */
TENON_INLINE tenon_tensor* tenon_argmax(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_apply(calls, tenon_operator_argmax(), args, 2);
}

/* The k largest elements along a dimension, sorted, and their indices as int64. Both are null after an error. */
TENON_INLINE void tenon_topk(tenon_calls* calls, tenon_tensor* input, int64_t k, int64_t dim, tenon_tensor** values,
                             tenon_tensor** indices) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(k), tenon_int(dim)};
  tenon_tensor* results[2];
  tenon_apply_for(calls, tenon_operator_topk(), args, 3, results, 2);
  *values = results[0];
  *indices = results[1];
}

/* All elements in order along a dimension, and their indices as int64. Both are null after an error. */
TENON_INLINE void tenon_sort(tenon_calls* calls, tenon_tensor* input, int64_t dim, int descending,
                             tenon_tensor** values, tenon_tensor** indices) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_bool(descending)};
  tenon_tensor* results[2];
  tenon_apply_for(calls, tenon_operator_sort(), args, 3, results, 2);
  *values = results[0];
  *indices = results[1];
}

#ifdef __cplusplus
}
#endif
#endif
