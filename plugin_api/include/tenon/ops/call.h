/* How the functions of tenon/ops call the host. Operators are looked up on first use, and the first error is kept. */
#ifndef TENON_OPS_CALL_H
#define TENON_OPS_CALL_H

#include <string.h>

#include "../called_operators.h"
#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operators of tenon/ops: the name here, then the name in ATen, with the overload if it has one. */
/* clang-format off */
#define TENON_FOR_EACH_OPERATOR(X) \
  X(add, "aten::add.Tensor") \
  X(add_in_place, "aten::add_.Tensor") \
  X(add_scalar_in_place, "aten::add_.Scalar") \
  X(sub, "aten::sub.Tensor") \
  X(mul, "aten::mul.Tensor") \
  X(mul_in_place, "aten::mul_.Tensor") \
  X(div, "aten::div.Tensor") \
  X(add_scalar, "aten::add.Scalar") \
  X(sub_scalar, "aten::sub.Scalar") \
  X(mul_scalar, "aten::mul.Scalar") \
  X(div_scalar, "aten::div.Scalar") \
  X(pow_scalar, "aten::pow.Tensor_Scalar") \
  X(neg, "aten::neg") \
  X(abs, "aten::abs") \
  X(exp, "aten::exp") \
  X(log, "aten::log") \
  X(sqrt, "aten::sqrt") \
  X(rsqrt, "aten::rsqrt") \
  X(sin, "aten::sin") \
  X(cos, "aten::cos") \
  X(floor, "aten::floor") \
  X(reciprocal, "aten::reciprocal") \
  X(maximum, "aten::maximum") \
  X(minimum, "aten::minimum") \
  X(clamp, "aten::clamp") \
  X(clamp_min, "aten::clamp_min") \
  X(clamp_max, "aten::clamp_max") \
  X(sum, "aten::sum") \
  X(sum_dims, "aten::sum.dim_IntList") \
  X(mean, "aten::mean") \
  X(mean_dims, "aten::mean.dim") \
  X(amax, "aten::amax") \
  X(amin, "aten::amin") \
  X(cumsum, "aten::cumsum") \
  X(matmul, "aten::matmul") \
  X(eq, "aten::eq.Tensor") \
  X(eq_scalar, "aten::eq.Scalar") \
  X(ne, "aten::ne.Tensor") \
  X(ne_scalar, "aten::ne.Scalar") \
  X(gt, "aten::gt.Tensor") \
  X(gt_scalar, "aten::gt.Scalar") \
  X(ge, "aten::ge.Tensor") \
  X(ge_scalar, "aten::ge.Scalar") \
  X(lt, "aten::lt.Tensor") \
  X(lt_scalar, "aten::lt.Scalar") \
  X(le, "aten::le.Tensor") \
  X(le_scalar, "aten::le.Scalar") \
  X(logical_and, "aten::logical_and") \
  X(logical_or, "aten::logical_or") \
  X(logical_not, "aten::logical_not") \
  X(where, "aten::where.self") \
  X(argmax, "aten::argmax") \
  X(topk, "aten::topk") \
  X(sort, "aten::sort") \
  X(reshape, "aten::reshape") \
  X(flatten, "aten::flatten.using_ints") \
  X(transpose, "aten::transpose.int") \
  X(permute, "aten::permute") \
  X(squeeze, "aten::squeeze.dim") \
  X(unsqueeze, "aten::unsqueeze") \
  X(expand, "aten::expand") \
  X(cat, "aten::cat") \
  X(stack, "aten::stack") \
  X(chunk, "aten::chunk") \
  X(select, "aten::select.int") \
  X(slice, "aten::slice.Tensor") \
  X(index_select, "aten::index_select") \
  X(gather, "aten::gather") \
  X(scatter, "aten::scatter.src") \
  X(scatter_add, "aten::scatter_add") \
  X(pad, "aten::constant_pad_nd") \
  X(masked_fill, "aten::masked_fill.Scalar") \
  X(one_hot, "aten::one_hot") \
  X(contiguous, "aten::contiguous") \
  X(to_dtype, "aten::to.dtype") \
  X(to_like, "aten::to.other") \
  X(detach, "aten::detach") \
  X(copy_in_place, "aten::copy_") \
  X(zero_in_place, "aten::zero_") \
  X(zeros_like, "aten::zeros_like") \
  X(ones_like, "aten::ones_like") \
  X(new_ones, "aten::new_ones") \
  X(rand_like, "aten::rand_like") \
  X(linear, "aten::linear") \
  X(conv1d, "aten::conv1d") \
  X(conv2d, "aten::conv2d") \
  X(conv_transpose2d, "aten::conv_transpose2d.input") \
  X(max_pool2d, "aten::max_pool2d") \
  X(avg_pool2d, "aten::avg_pool2d") \
  X(adaptive_avg_pool2d, "aten::adaptive_avg_pool2d") \
  X(upsample_nearest2d, "aten::upsample_nearest2d.vec") \
  X(upsample_bilinear2d, "aten::upsample_bilinear2d.vec") \
  X(embedding, "aten::embedding") \
  X(dropout, "aten::dropout") \
  X(batch_norm, "aten::batch_norm") \
  X(layer_norm, "aten::layer_norm") \
  X(group_norm, "aten::group_norm") \
  X(rms_norm, "aten::rms_norm") \
  X(relu, "aten::relu") \
  X(leaky_relu, "aten::leaky_relu") \
  X(elu, "aten::elu") \
  X(gelu, "aten::gelu") \
  X(silu, "aten::silu") \
  X(hardswish, "aten::hardswish") \
  X(softplus, "aten::softplus") \
  X(sigmoid, "aten::sigmoid") \
  X(tanh, "aten::tanh") \
  X(softmax, "aten::softmax.int") \
  X(log_softmax, "aten::log_softmax.int") \
  X(attention, "aten::scaled_dot_product_attention") \
  X(cross_entropy_loss, "aten::cross_entropy_loss") \
  X(nll_loss, "aten::nll_loss") \
  X(mse_loss, "aten::mse_loss") \
  X(l1_loss, "aten::l1_loss") \
  X(smooth_l1_loss, "aten::smooth_l1_loss") \
  X(huber_loss, "aten::huber_loss") \
  X(bce_with_logits, "aten::binary_cross_entropy_with_logits") \
  X(kl_div, "aten::kl_div")
/* clang-format on */

#define TENON_OPERATOR_NUMBER(name, aten_name) TENON_OPERATOR_##name,
enum { TENON_FOR_EACH_OPERATOR(TENON_OPERATOR_NUMBER) TENON_OPERATOR_COUNT };
#undef TENON_OPERATOR_NUMBER

/* An operator of the table. tenon_operator_relu() returns relu, and so on. These functions hold the names, so a plugin
 * declares an operator by calling it; see called_operators.h. */
typedef struct tenon_operator {
  int number;
  const char* name;
} tenon_operator;

#define TENON_OPERATOR_FUNCTION(name, aten_name)                     \
  static inline tenon_operator tenon_operator_##name(void) {         \
    static const char kName[] TENON_CALLED_OPERATOR = aten_name;     \
    const tenon_operator operation = {TENON_OPERATOR_##name, kName}; \
    return operation;                                                \
  }
TENON_FOR_EACH_OPERATOR(TENON_OPERATOR_FUNCTION)
#undef TENON_OPERATOR_FUNCTION

/* The operators that have been looked up. Each is looked up on first use, so that a plugin depends only on the
 * operators that it calls. Initialise it with tenon_ops_open(), in create() or in the entry function. Use it only on
 * the training thread, which fills it in; one for the whole plugin is enough. It owns nothing and has no function to
 * close it: the operators that it points to are valid until the process ends. */
typedef struct tenon_ops {
  const tenon_host* host;
  const tenon_op* found[TENON_OPERATOR_COUNT];
} tenon_ops;

TENON_INLINE void tenon_ops_open(const tenon_host* host, tenon_ops* ops) {
  memset(ops, 0, sizeof *ops);
  ops->host = host;
}

/* The operator calls of one frame, with the first error. */
typedef struct tenon_calls {
  tenon_ops* ops;
  const tenon_frame* frame;
  tenon_status status;
} tenon_calls;

TENON_INLINE tenon_calls tenon_begin(tenon_ops* ops, const tenon_frame* frame) {
  tenon_calls calls;
  calls.ops = ops;
  calls.frame = frame;
  calls.status = TENON_OK;
  return calls;
}

/* Looks up an operator, unless an earlier call has failed or `op` is set. */
TENON_INLINE void tenon_look_up_op(tenon_calls* calls, const tenon_op** op, tenon_string name, tenon_string overload) {
  if (calls->status == TENON_OK && !*op) calls->status = calls->ops->host->op(name, overload, op);
}

/* Calls an operator that was looked up. After an error all `results` are null. */
TENON_INLINE void tenon_call_found_op(tenon_calls* calls, const tenon_op* op, const tenon_value* args,
                                      uint64_t arg_count, tenon_tensor** results, uint64_t result_count) {
  enum { kMaxResults = 16 };
  tenon_value values[kMaxResults];
  uint64_t i;
  for (i = 0; i < result_count; ++i) results[i] = NULL;
  if (calls->status == TENON_OK && result_count > kMaxResults) calls->status = TENON_INVALID_ARGUMENT;
  if (calls->status == TENON_OK) {
    calls->status = calls->ops->host->call(calls->frame, op, args, arg_count, NULL, 0, values, result_count);
  }
  if (calls->status != TENON_OK) return;
  /* The host created the handles as mutable; tenon_value stores them as const, as for arguments. A cast would be
   * reported by -Wcast-qual. */
  for (i = 0; i < result_count; ++i) {
    if (values[i].kind == TENON_VALUE_TENSOR) memcpy(&results[i], &values[i].as.p, sizeof results[i]);
  }
}

/* Calls any operator that returns `result_count` tensors. `op` caches the looked-up operator and must be null at first.
 * After an error all `results` are null. Name the operator in tenon_plugin.operators. */
TENON_INLINE void tenon_call_op_for(tenon_calls* calls, const tenon_op** op, const char* name, const char* overload,
                                    const tenon_value* args, uint64_t arg_count, tenon_tensor** results,
                                    uint64_t result_count) {
  tenon_look_up_op(calls, op, tenon_make_string(name, strlen(name)), tenon_make_string(overload, strlen(overload)));
  tenon_call_found_op(calls, *op, args, arg_count, results, result_count);
}

/* The same for an operator that returns one tensor. */
TENON_INLINE tenon_tensor* tenon_call_op(tenon_calls* calls, const tenon_op** op, const char* name,
                                         const char* overload, const tenon_value* args, uint64_t arg_count) {
  tenon_tensor* result;
  tenon_call_op_for(calls, op, name, overload, args, arg_count, &result, 1);
  return result;
}

/* Calls an operator of the table above. */
TENON_INLINE void tenon_apply_for(tenon_calls* calls, tenon_operator operation, const tenon_value* args,
                                  uint64_t arg_count, tenon_tensor** results, uint64_t result_count) {
  const tenon_op** op = &calls->ops->found[operation.number];
  const size_t length = strcspn(operation.name, ".");
  const char* overload = operation.name + length + (operation.name[length] == '.' ? 1 : 0);
  tenon_look_up_op(calls, op, tenon_make_string(operation.name, length), tenon_make_string(overload, strlen(overload)));
  tenon_call_found_op(calls, *op, args, arg_count, results, result_count);
}

TENON_INLINE tenon_tensor* tenon_apply(tenon_calls* calls, tenon_operator operation, const tenon_value* args,
                                       uint64_t arg_count) {
  tenon_tensor* result;
  tenon_apply_for(calls, operation, args, arg_count, &result, 1);
  return result;
}

TENON_INLINE tenon_tensor* tenon_apply_unary(tenon_calls* calls, tenon_operator operation, tenon_tensor* input) {
  const tenon_value argument = tenon_tensor_value(input);
  return tenon_apply(calls, operation, &argument, 1);
}

TENON_INLINE tenon_tensor* tenon_apply_binary(tenon_calls* calls, tenon_operator operation, tenon_tensor* left,
                                              tenon_tensor* right) {
  const tenon_value args[2] = {tenon_tensor_value(left), tenon_tensor_value(right)};
  return tenon_apply(calls, operation, args, 2);
}

TENON_INLINE tenon_tensor* tenon_apply_with(tenon_calls* calls, tenon_operator operation, tenon_tensor* input,
                                            tenon_value value) {
  const tenon_value args[2] = {tenon_tensor_value(input), value};
  return tenon_apply(calls, operation, args, 2);
}

/* The extent of a dimension, or -1 after an error. A negative dimension counts from the end. */
TENON_INLINE int64_t tenon_extent(tenon_calls* calls, const tenon_tensor* tensor, int64_t dim) {
  static const char kMessage[] = "the tensor does not have the requested dimension";
  const tenon_host* host = calls->ops->host;
  tenon_tensor_info info;
  if (calls->status != TENON_OK) return -1;
  info.size = sizeof info;
  calls->status = host->tensor_info(tensor, &info);
  if (calls->status != TENON_OK) return -1;
  if (dim < 0) dim += info.ndim;
  if (dim < 0 || dim >= (int64_t)info.ndim) {
    calls->status = host->fail(TENON_INVALID_ARGUMENT, tenon_make_string(kMessage, sizeof kMessage - 1));
    return -1;
  }
  return info.shape[dim];
}

#ifdef __cplusplus
}
#endif
#endif
