/* ATen operators for plugins in C: what a model, loss or metric writes its arithmetic with.
 *
 * Errors stick: after the first failure every further operator does nothing and gives null, so that a function computes
 * to its end and returns `calls.status` once:
 *
 *   tenon_calls calls = tenon_begin(&self->ops, frame);
 *   tenon_tensor* hidden = tenon_relu(&calls, tenon_linear(&calls, inputs[0], weight, bias));
 *   outputs[0] = tenon_linear(&calls, hidden, ...);
 *   return calls.status;
 *
 * Static inline, so nothing of this file is part of the binary contract. Tensors that an operator gives belong to the
 * frame. Names, shapes and promotion are those of PyTorch. [train] all of it. */
#ifndef TENON_OPS_H
#define TENON_OPS_H

#include <string.h>

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Operators looked up so far: each on its first use, so that a plugin depends on those alone that it calls. Zeroed but
 * for `host`; one for each component, or for the plugin. */
typedef struct tenon_ops {
  const tenon_host* host;
  const tenon_op* add;
  const tenon_op* add_in_place;
  const tenon_op* argmax;
  const tenon_op* clamp_min;
  const tenon_op* cross_entropy_loss;
  const tenon_op* div;
  const tenon_op* eq;
  const tenon_op* flatten;
  const tenon_op* linear;
  const tenon_op* logical_and;
  const tenon_op* mul;
  const tenon_op* ne_scalar;
  const tenon_op* relu;
  const tenon_op* sub;
  const tenon_op* sum;
} tenon_ops;

static inline void tenon_ops_open(const tenon_host* host, tenon_ops* ops) {
  memset(ops, 0, sizeof *ops);
  ops->host = host;
}

/* The operators called within one frame, and whether one of them failed. */
typedef struct tenon_calls {
  tenon_ops* ops;
  const tenon_frame* frame;
  tenon_status status;
} tenon_calls;

static inline tenon_calls tenon_begin(tenon_ops* ops, const tenon_frame* frame) {
  tenon_calls calls;
  calls.ops = ops;
  calls.frame = frame;
  calls.status = TENON_OK;
  return calls;
}

/* Calls any operator that gives one tensor. `op` is where the looked-up operator is kept, null at first. */
static inline tenon_tensor* tenon_call_op(tenon_calls* calls, const tenon_op** op, const char* name,
                                          const char* overload, const tenon_value* args, uint64_t arg_count) {
  const tenon_host* host = calls->ops->host;
  tenon_value result = tenon_none();
  if (calls->status == TENON_OK && !*op) {
    calls->status = host->op(tenon_make_string(name, strlen(name)), tenon_make_string(overload, strlen(overload)), op);
  }
  if (calls->status == TENON_OK) {
    calls->status = host->call(calls->frame, *op, args, arg_count, NULL, 0, &result, 1);
  }
  /* The handle was handed out as one that may be written to; values carry it const, as they do arguments. */
  return calls->status == TENON_OK && result.kind == TENON_VALUE_TENSOR ? (tenon_tensor*)result.as.p : NULL;
}

/* The extent of a dimension; a negative one counts from the end. -1 after an error. */
static inline int64_t tenon_extent(tenon_calls* calls, const tenon_tensor* tensor, int64_t dim) {
  static const char kMessage[] = "a tensor was asked for a dimension that it does not have";
  const tenon_host* host = calls->ops->host;
  tenon_tensor_info info;
  if (calls->status != TENON_OK) return -1;
  info.size = sizeof info;
  calls->status = host->tensor_info(tensor, &info);
  if (calls->status != TENON_OK) return -1;
  if (dim < 0) dim += info.rank;
  if (dim < 0 || dim >= (int64_t)info.rank) {
    calls->status = host->fail(TENON_INVALID_ARGUMENT, tenon_make_string(kMessage, sizeof kMessage - 1));
    return -1;
  }
  return info.shape[dim];
}

/* ---- Arithmetic -------------------------------------------------------------------------------------------------- */

static inline tenon_tensor* tenon_binary_op(tenon_calls* calls, const tenon_op** op, const char* name,
                                            const char* overload, tenon_tensor* left, tenon_tensor* right) {
  const tenon_value args[2] = {tenon_tensor_value(left), tenon_tensor_value(right)};
  return tenon_call_op(calls, op, name, overload, args, 2);
}

static inline tenon_tensor* tenon_add(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_binary_op(calls, &calls->ops->add, "aten::add", "Tensor", left, right);
}

static inline tenon_tensor* tenon_sub(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_binary_op(calls, &calls->ops->sub, "aten::sub", "Tensor", left, right);
}

static inline tenon_tensor* tenon_mul(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_binary_op(calls, &calls->ops->mul, "aten::mul", "Tensor", left, right);
}

static inline tenon_tensor* tenon_div(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_binary_op(calls, &calls->ops->div, "aten::div", "Tensor", left, right);
}

/* target += amount, in place: how a metric adds to its states. */
static inline tenon_tensor* tenon_add_in_place(tenon_calls* calls, tenon_tensor* target, tenon_tensor* amount) {
  return tenon_binary_op(calls, &calls->ops->add_in_place, "aten::add_", "Tensor", target, amount);
}

/* Each element, but `minimum` where it is smaller. */
static inline tenon_tensor* tenon_clamp_min(tenon_calls* calls, tenon_tensor* input, tenon_value minimum) {
  const tenon_value args[2] = {tenon_tensor_value(input), minimum};
  return tenon_call_op(calls, &calls->ops->clamp_min, "aten::clamp_min", "", args, 2);
}

/* The sum of all elements, a scalar; of booleans, their number as int64. */
static inline tenon_tensor* tenon_sum(tenon_calls* calls, tenon_tensor* input) {
  const tenon_value args[1] = {tenon_tensor_value(input)};
  return tenon_call_op(calls, &calls->ops->sum, "aten::sum", "", args, 1);
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

/* Booleans, as are all below. */
static inline tenon_tensor* tenon_eq(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_binary_op(calls, &calls->ops->eq, "aten::eq", "Tensor", left, right);
}

static inline tenon_tensor* tenon_ne_scalar(tenon_calls* calls, tenon_tensor* input, tenon_value other) {
  const tenon_value args[2] = {tenon_tensor_value(input), other};
  return tenon_call_op(calls, &calls->ops->ne_scalar, "aten::ne", "Scalar", args, 2);
}

static inline tenon_tensor* tenon_logical_and(tenon_calls* calls, tenon_tensor* left, tenon_tensor* right) {
  return tenon_binary_op(calls, &calls->ops->logical_and, "aten::logical_and", "", left, right);
}

/* The index of the largest element along a dimension, int64, without that dimension. */
static inline tenon_tensor* tenon_argmax(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_call_op(calls, &calls->ops->argmax, "aten::argmax", "", args, 2);
}

/* ---- Networks ---------------------------------------------------------------------------------------------------- */

/* input: [..., I]; weight: [O, I]; bias: [O] or null. Gives [..., O]. */
static inline tenon_tensor* tenon_linear(tenon_calls* calls, tenon_tensor* input, tenon_tensor* weight,
                                         tenon_tensor* bias) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_tensor_value(weight), tenon_tensor_value(bias)};
  return tenon_call_op(calls, &calls->ops->linear, "aten::linear", "", args, 3);
}

static inline tenon_tensor* tenon_relu(tenon_calls* calls, tenon_tensor* input) {
  const tenon_value args[1] = {tenon_tensor_value(input)};
  return tenon_call_op(calls, &calls->ops->relu, "aten::relu", "", args, 1);
}

/* Joins the dimensions first_dim ... last_dim, both included; negative ones count from the end. */
static inline tenon_tensor* tenon_flatten(tenon_calls* calls, tenon_tensor* input, int64_t first_dim,
                                          int64_t last_dim) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_int(first_dim), tenon_int(last_dim)};
  return tenon_call_op(calls, &calls->ops->flatten, "aten::flatten", "using_ints", args, 3);
}

enum { TENON_REDUCTION_NONE = 0, TENON_REDUCTION_MEAN = 1, TENON_REDUCTION_SUM = 2 };

/* Softmax cross entropy. logits: [N, C, ...]; target: [N, ...] int64 in [0, C), or ignore_index; class_weights: [C] or
 * null. Label smoothing: Szegedy et al., arXiv:1512.00567. */
static inline tenon_tensor* tenon_cross_entropy_loss(tenon_calls* calls, tenon_tensor* logits, tenon_tensor* target,
                                                     tenon_tensor* class_weights, int64_t reduction,
                                                     int64_t ignore_index, double label_smoothing) {
  const tenon_value args[6] = {tenon_tensor_value(logits),        tenon_tensor_value(target),
                               tenon_tensor_value(class_weights), tenon_int(reduction),
                               tenon_int(ignore_index),           tenon_float(label_smoothing)};
  return tenon_call_op(calls, &calls->ops->cross_entropy_loss, "aten::cross_entropy_loss", "", args, 6);
}

#ifdef __cplusplus
}
#endif
#endif
