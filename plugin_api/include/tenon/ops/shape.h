/* Shapes, parts, and conversions. Negative dimensions count from the end. What can be a view is one. */
#ifndef TENON_OPS_SHAPE_H
#define TENON_OPS_SHAPE_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same elements in another shape; one extent may be -1. */
static inline tenon_tensor* tenon_reshape(tenon_calls* calls, tenon_tensor* input, const int64_t* shape,
                                          uint64_t shape_count) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_ints(shape, shape_count)};
  return tenon_apply(calls, TENON_OPERATOR_RESHAPE, args, 2);
}

/* Joins the dimensions first_dim ... last_dim, both included. */
static inline tenon_tensor* tenon_flatten(tenon_calls* calls, tenon_tensor* input, int64_t first_dim,
                                          int64_t last_dim) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(first_dim), tenon_int(last_dim)};
  return tenon_apply(calls, TENON_OPERATOR_FLATTEN, args, 3);
}

static inline tenon_tensor* tenon_transpose(tenon_calls* calls, tenon_tensor* input, int64_t dim, int64_t other_dim) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_int(other_dim)};
  return tenon_apply(calls, TENON_OPERATOR_TRANSPOSE, args, 3);
}

static inline tenon_tensor* tenon_permute(tenon_calls* calls, tenon_tensor* input, const int64_t* dims,
                                          uint64_t dims_count) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_ints(dims, dims_count)};
  return tenon_apply(calls, TENON_OPERATOR_PERMUTE, args, 2);
}

/* Without a dimension of extent 1; unchanged where it has another extent. */
static inline tenon_tensor* tenon_squeeze(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_apply(calls, TENON_OPERATOR_SQUEEZE, args, 2);
}

/* With a dimension of extent 1 before dim. */
static inline tenon_tensor* tenon_unsqueeze(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_apply(calls, TENON_OPERATOR_UNSQUEEZE, args, 2);
}

/* Extents of 1 repeated to those of shape, without a copy. */
static inline tenon_tensor* tenon_expand(tenon_calls* calls, tenon_tensor* input, const int64_t* shape,
                                         uint64_t shape_count) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_ints(shape, shape_count)};
  return tenon_apply(calls, TENON_OPERATOR_EXPAND, args, 2);
}

/* Along a dimension that all have. */
static inline tenon_tensor* tenon_cat(tenon_calls* calls, tenon_tensor* const* tensors, uint64_t tensor_count,
                                      int64_t dim) {
  const tenon_value args[2] = {tenon_tensors(tensors, tensor_count), tenon_int(dim)};
  return tenon_apply(calls, TENON_OPERATOR_CAT, args, 2);
}

/* Along a new dimension. */
static inline tenon_tensor* tenon_stack(tenon_calls* calls, tenon_tensor* const* tensors, uint64_t tensor_count,
                                        int64_t dim) {
  const tenon_value args[2] = {tenon_tensors(tensors, tensor_count), tenon_int(dim)};
  return tenon_apply(calls, TENON_OPERATOR_STACK, args, 2);
}

/* `count` (16 at most) equal parts along a dimension, as torch.chunk; fails unless it divides into so many. */
static inline void tenon_chunk(tenon_calls* calls, tenon_tensor* input, uint64_t count, int64_t dim,
                               tenon_tensor** parts) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int((int64_t)count), tenon_int(dim)};
  tenon_apply_for(calls, TENON_OPERATOR_CHUNK, args, 3, parts, count);
}

/* One index of a dimension, which goes. */
static inline tenon_tensor* tenon_select(tenon_calls* calls, tenon_tensor* input, int64_t dim, int64_t index) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_int(index)};
  return tenon_apply(calls, TENON_OPERATOR_SELECT, args, 3);
}

/* start <= index < end of a dimension; INT64_MAX as end: to its end. */
static inline tenon_tensor* tenon_slice(tenon_calls* calls, tenon_tensor* input, int64_t dim, int64_t start,
                                        int64_t end, int64_t step) {
  const tenon_value args[5] = {tenon_tensor_value(input), tenon_int(dim), tenon_int(start), tenon_int(end),
                               tenon_int(step)};
  return tenon_apply(calls, TENON_OPERATOR_SLICE, args, 5);
}

/* index: [K] int64. */
static inline tenon_tensor* tenon_index_select(tenon_calls* calls, tenon_tensor* input, int64_t dim,
                                               tenon_tensor* index) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_tensor_value(index)};
  return tenon_apply(calls, TENON_OPERATOR_INDEX_SELECT, args, 3);
}

/* index: int64, of the rank of input. */
static inline tenon_tensor* tenon_gather(tenon_calls* calls, tenon_tensor* input, int64_t dim, tenon_tensor* index) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_tensor_value(index)};
  return tenon_apply(calls, TENON_OPERATOR_GATHER, args, 3);
}

/* value where mask is true. */
static inline tenon_tensor* tenon_masked_fill(tenon_calls* calls, tenon_tensor* input, tenon_tensor* mask,
                                              tenon_value value) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_tensor_value(mask), value};
  return tenon_apply(calls, TENON_OPERATOR_MASKED_FILL, args, 3);
}

/* [...] int64 to [..., class_count] int64. */
static inline tenon_tensor* tenon_one_hot(tenon_calls* calls, tenon_tensor* classes, int64_t class_count) {
  const tenon_value args[2] = {tenon_tensor_value(classes), tenon_int(class_count)};
  return tenon_apply(calls, TENON_OPERATOR_ONE_HOT, args, 2);
}

static inline tenon_tensor* tenon_contiguous(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, TENON_OPERATOR_CONTIGUOUS, input);
}

/* dtype: TENON_FLOAT32 ... */
static inline tenon_tensor* tenon_to_dtype(tenon_calls* calls, tenon_tensor* input, int32_t dtype) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_dtype(dtype)};
  return tenon_apply(calls, TENON_OPERATOR_TO_DTYPE, args, 2);
}

/* The same elements, through which no gradient flows. */
static inline tenon_tensor* tenon_detach(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, TENON_OPERATOR_DETACH, input);
}

/* Copies source into target, converting. */
static inline tenon_tensor* tenon_copy_in_place(tenon_calls* calls, tenon_tensor* target, tenon_tensor* source) {
  return tenon_apply_binary(calls, TENON_OPERATOR_COPY_IN_PLACE, target, source);
}

static inline tenon_tensor* tenon_zero_in_place(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, TENON_OPERATOR_ZERO_IN_PLACE, input);
}

static inline tenon_tensor* tenon_zeros_like(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, TENON_OPERATOR_ZEROS_LIKE, input);
}

static inline tenon_tensor* tenon_ones_like(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, TENON_OPERATOR_ONES_LIKE, input);
}

/* Uniform in [0, 1), from the generator of the run. */
static inline tenon_tensor* tenon_rand_like(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, TENON_OPERATOR_RAND_LIKE, input);
}

#ifdef __cplusplus
}
#endif
#endif
