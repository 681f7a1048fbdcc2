/* Shapes, indexing and conversions. Negative dimensions count from the end. The result is a view where possible. */
#ifndef TENON_OPS_SHAPE_H
#define TENON_OPS_SHAPE_H

#include "arithmetic.h"
#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same elements with another shape; one extent may be -1. */
TENON_INLINE tenon_tensor* tenon_reshape(tenon_calls* calls, tenon_tensor* input, const int64_t* shape,
                                         uint64_t shape_count) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_ints(shape, shape_count)};
  return tenon_apply(calls, tenon_operator_reshape(), args, 2);
}

/* Merges the dimensions first_dim to last_dim, both included. */
TENON_INLINE tenon_tensor* tenon_flatten(tenon_calls* calls, tenon_tensor* input, int64_t first_dim, int64_t last_dim) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(first_dim), tenon_int(last_dim)};
  return tenon_apply(calls, tenon_operator_flatten(), args, 3);
}

TENON_INLINE tenon_tensor* tenon_transpose(tenon_calls* calls, tenon_tensor* input, int64_t dim, int64_t other_dim) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_int(other_dim)};
  return tenon_apply(calls, tenon_operator_transpose(), args, 3);
}

TENON_INLINE tenon_tensor* tenon_permute(tenon_calls* calls, tenon_tensor* input, const int64_t* dims,
                                         uint64_t dims_count) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_ints(dims, dims_count)};
  return tenon_apply(calls, tenon_operator_permute(), args, 2);
}

/* Removes the dimension if its extent is 1; otherwise returns input unchanged. */
TENON_INLINE tenon_tensor* tenon_squeeze(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_apply(calls, tenon_operator_squeeze(), args, 2);
}

/* Inserts a dimension of extent 1 before dim. */
TENON_INLINE tenon_tensor* tenon_unsqueeze(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_apply(calls, tenon_operator_unsqueeze(), args, 2);
}

/* Repeats dimensions of extent 1 to the extents of shape, without a copy. */
TENON_INLINE tenon_tensor* tenon_expand(tenon_calls* calls, tenon_tensor* input, const int64_t* shape,
                                        uint64_t shape_count) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_ints(shape, shape_count)};
  return tenon_apply(calls, tenon_operator_expand(), args, 2);
}

/* Concatenates along an existing dimension. */
TENON_INLINE tenon_tensor* tenon_cat(tenon_calls* calls, tenon_tensor* const* tensors, uint64_t tensor_count,
                                     int64_t dim) {
  const tenon_value args[2] = {tenon_tensors(tensors, tensor_count), tenon_int(dim)};
  return tenon_apply(calls, tenon_operator_cat(), args, 2);
}

/* Stacks along a new dimension. */
TENON_INLINE tenon_tensor* tenon_stack(tenon_calls* calls, tenon_tensor* const* tensors, uint64_t tensor_count,
                                       int64_t dim) {
  const tenon_value args[2] = {tenon_tensors(tensors, tensor_count), tenon_int(dim)};
  return tenon_apply(calls, tenon_operator_stack(), args, 2);
}

/* Splits into `count` (16 at most) parts along a dimension, like torch.chunk. Fails if torch.chunk returns fewer parts,
 * so use an extent that is divisible by count. */
TENON_INLINE void tenon_chunk(tenon_calls* calls, tenon_tensor* input, uint64_t count, int64_t dim,
                              tenon_tensor** parts) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int((int64_t)count), tenon_int(dim)};
  tenon_apply_for(calls, tenon_operator_chunk(), args, 3, parts, count);
}

/* Selects one index of a dimension and removes the dimension. */
TENON_INLINE tenon_tensor* tenon_select(tenon_calls* calls, tenon_tensor* input, int64_t dim, int64_t index) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_int(index)};
  return tenon_apply(calls, tenon_operator_select(), args, 3);
}

/* Selects start <= index < end of a dimension. With INT64_MAX as end, selects up to the last index. */
TENON_INLINE tenon_tensor* tenon_slice(tenon_calls* calls, tenon_tensor* input, int64_t dim, int64_t start, int64_t end,
                                       int64_t step) {
  const tenon_value args[5] = {tenon_tensor_value(input), tenon_int(dim), tenon_int(start), tenon_int(end),
                               tenon_int(step)};
  return tenon_apply(calls, tenon_operator_slice(), args, 5);
}

/* index: [K] int64. */
TENON_INLINE tenon_tensor* tenon_index_select(tenon_calls* calls, tenon_tensor* input, int64_t dim,
                                              tenon_tensor* index) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_tensor_value(index)};
  return tenon_apply(calls, tenon_operator_index_select(), args, 3);
}

/* index: int64, with as many dimensions as input. */
TENON_INLINE tenon_tensor* tenon_gather(tenon_calls* calls, tenon_tensor* input, int64_t dim, tenon_tensor* index) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(dim), tenon_tensor_value(index)};
  return tenon_apply(calls, tenon_operator_gather(), args, 3);
}

/* A copy of input with input[index[i, j], j] = source[i, j] for dim 0, and likewise for other dimensions. index: int64,
 * with as many dimensions as input. If an element has several sources, any of them is taken. */
TENON_INLINE tenon_tensor* tenon_scatter(tenon_calls* calls, tenon_tensor* input, int64_t dim, tenon_tensor* index,
                                         tenon_tensor* source) {
  const tenon_value args[4] = {tenon_tensor_value(input), tenon_int(dim), tenon_tensor_value(index),
                               tenon_tensor_value(source)};
  return tenon_apply(calls, tenon_operator_scatter(), args, 4);
}

/* As tenon_scatter, but adds the sources to the elements of input. */
TENON_INLINE tenon_tensor* tenon_scatter_add(tenon_calls* calls, tenon_tensor* input, int64_t dim, tenon_tensor* index,
                                             tenon_tensor* source) {
  const tenon_value args[4] = {tenon_tensor_value(input), tenon_int(dim), tenon_tensor_value(index),
                               tenon_tensor_value(source)};
  return tenon_apply(calls, tenon_operator_scatter_add(), args, 4);
}

/* Adds elements with the value before and after each dimension, like torch.nn.functional.pad: `pad` has the numbers
 * before and after the last dimension, then those of the one before it. Negative numbers remove elements. */
TENON_INLINE tenon_tensor* tenon_pad(tenon_calls* calls, tenon_tensor* input, const int64_t* pad, uint64_t pad_count,
                                     tenon_value value) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_ints(pad, pad_count), value};
  return tenon_apply(calls, tenon_operator_pad(), args, 3);
}

/* Fills with value where mask is true. */
TENON_INLINE tenon_tensor* tenon_masked_fill(tenon_calls* calls, tenon_tensor* input, tenon_tensor* mask,
                                             tenon_value value) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_tensor_value(mask), value};
  return tenon_apply(calls, tenon_operator_masked_fill(), args, 3);
}

/* [...] int64 to [..., class_count] int64. */
TENON_INLINE tenon_tensor* tenon_one_hot(tenon_calls* calls, tenon_tensor* classes, int64_t class_count) {
  const tenon_value args[2] = {tenon_tensor_value(classes), tenon_int(class_count)};
  return tenon_apply(calls, tenon_operator_one_hot(), args, 2);
}

TENON_INLINE tenon_tensor* tenon_contiguous(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_contiguous(), input);
}

/* dtype: TENON_FLOAT32 ... */
TENON_INLINE tenon_tensor* tenon_to_dtype(tenon_calls* calls, tenon_tensor* input, int32_t dtype) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_dtype(dtype)};
  return tenon_apply(calls, tenon_operator_to_dtype(), args, 2);
}

/* The same elements with the dtype and the device of `like`. If non_blocking, the host does not wait for the copy. */
TENON_INLINE tenon_tensor* tenon_to_like(tenon_calls* calls, tenon_tensor* input, tenon_tensor* like,
                                         int non_blocking) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_tensor_value(like), tenon_bool(non_blocking)};
  return tenon_apply(calls, tenon_operator_to_like(), args, 3);
}

/* The same elements, detached from the graph. */
TENON_INLINE tenon_tensor* tenon_detach(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_detach(), input);
}

/* Copies source into target, with conversion. */
TENON_INLINE tenon_tensor* tenon_copy_in_place(tenon_calls* calls, tenon_tensor* target, tenon_tensor* source) {
  return tenon_apply_binary(calls, tenon_operator_copy_in_place(), target, source);
}

TENON_INLINE tenon_tensor* tenon_zero_in_place(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_zero_in_place(), input);
}

TENON_INLINE tenon_tensor* tenon_zeros_like(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_zeros_like(), input);
}

TENON_INLINE tenon_tensor* tenon_ones_like(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_ones_like(), input);
}

/* Ones in another shape, with the dtype and the device of `like`. */
TENON_INLINE tenon_tensor* tenon_new_ones(tenon_calls* calls, tenon_tensor* like, const int64_t* shape,
                                          uint64_t shape_count) {
  const tenon_value args[2] = {tenon_tensor_value(like), tenon_ints(shape, shape_count)};
  return tenon_apply(calls, tenon_operator_new_ones(), args, 2);
}

/* [count]: 0, 1, ... of this dtype, on the device of `like`. */
TENON_INLINE tenon_tensor* tenon_arange(tenon_calls* calls, tenon_tensor* like, int64_t count, int32_t dtype) {
  const tenon_value ones[3] = {tenon_tensor_value(like), tenon_ints(&count, 1), tenon_dtype(TENON_INT64)};
  tenon_tensor* const from_one = tenon_cumsum(calls, tenon_apply(calls, tenon_operator_new_ones(), ones, 3), 0);
  return tenon_to_dtype(calls, tenon_sub_scalar(calls, from_one, tenon_int(1)), dtype);
}

/* Uniform in [0, 1), from the run's random number generator. */
TENON_INLINE tenon_tensor* tenon_rand_like(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_rand_like(), input);
}

#ifdef __cplusplus
}
#endif
#endif
