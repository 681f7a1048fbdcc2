/* How the functions of tenon/ops call the host. Operators are looked up on first use, and the first error is kept. */
#ifndef TENON_OPS_CALL_H
#define TENON_OPS_CALL_H

#include <string.h>

#include "../host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operators of tenon/ops: the name here, then the name and overload in ATen. */
/* clang-format off */
#define TENON_FOR_EACH_OPERATOR(X) \
  X(ADD, "aten::add", "Tensor") \
  X(ADD_IN_PLACE, "aten::add_", "Tensor") \
  X(ADD_SCALAR_IN_PLACE, "aten::add_", "Scalar") \
  X(SUB, "aten::sub", "Tensor") \
  X(MUL, "aten::mul", "Tensor") \
  X(MUL_IN_PLACE, "aten::mul_", "Tensor") \
  X(DIV, "aten::div", "Tensor") \
  X(ADD_SCALAR, "aten::add", "Scalar") \
  X(SUB_SCALAR, "aten::sub", "Scalar") \
  X(MUL_SCALAR, "aten::mul", "Scalar") \
  X(DIV_SCALAR, "aten::div", "Scalar") \
  X(POW_SCALAR, "aten::pow", "Tensor_Scalar") \
  X(NEG, "aten::neg", "") \
  X(ABS, "aten::abs", "") \
  X(EXP, "aten::exp", "") \
  X(LOG, "aten::log", "") \
  X(SQRT, "aten::sqrt", "") \
  X(RSQRT, "aten::rsqrt", "") \
  X(SIN, "aten::sin", "") \
  X(COS, "aten::cos", "") \
  X(MAXIMUM, "aten::maximum", "") \
  X(MINIMUM, "aten::minimum", "") \
  X(CLAMP, "aten::clamp", "") \
  X(CLAMP_MIN, "aten::clamp_min", "") \
  X(CLAMP_MAX, "aten::clamp_max", "") \
  X(SUM, "aten::sum", "") \
  X(SUM_DIMS, "aten::sum", "dim_IntList") \
  X(MEAN, "aten::mean", "") \
  X(MEAN_DIMS, "aten::mean", "dim") \
  X(AMAX, "aten::amax", "") \
  X(AMIN, "aten::amin", "") \
  X(CUMSUM, "aten::cumsum", "") \
  X(MATMUL, "aten::matmul", "") \
  X(EQ, "aten::eq", "Tensor") \
  X(EQ_SCALAR, "aten::eq", "Scalar") \
  X(NE, "aten::ne", "Tensor") \
  X(NE_SCALAR, "aten::ne", "Scalar") \
  X(GT, "aten::gt", "Tensor") \
  X(GT_SCALAR, "aten::gt", "Scalar") \
  X(GE, "aten::ge", "Tensor") \
  X(GE_SCALAR, "aten::ge", "Scalar") \
  X(LT, "aten::lt", "Tensor") \
  X(LT_SCALAR, "aten::lt", "Scalar") \
  X(LE, "aten::le", "Tensor") \
  X(LE_SCALAR, "aten::le", "Scalar") \
  X(LOGICAL_AND, "aten::logical_and", "") \
  X(LOGICAL_OR, "aten::logical_or", "") \
  X(LOGICAL_NOT, "aten::logical_not", "") \
  X(WHERE, "aten::where", "self") \
  X(ARGMAX, "aten::argmax", "") \
  X(TOPK, "aten::topk", "") \
  X(RESHAPE, "aten::reshape", "") \
  X(FLATTEN, "aten::flatten", "using_ints") \
  X(TRANSPOSE, "aten::transpose", "int") \
  X(PERMUTE, "aten::permute", "") \
  X(SQUEEZE, "aten::squeeze", "dim") \
  X(UNSQUEEZE, "aten::unsqueeze", "") \
  X(EXPAND, "aten::expand", "") \
  X(CAT, "aten::cat", "") \
  X(STACK, "aten::stack", "") \
  X(CHUNK, "aten::chunk", "") \
  X(SELECT, "aten::select", "int") \
  X(SLICE, "aten::slice", "Tensor") \
  X(INDEX_SELECT, "aten::index_select", "") \
  X(GATHER, "aten::gather", "") \
  X(MASKED_FILL, "aten::masked_fill", "Scalar") \
  X(ONE_HOT, "aten::one_hot", "") \
  X(CONTIGUOUS, "aten::contiguous", "") \
  X(TO_DTYPE, "aten::to", "dtype") \
  X(DETACH, "aten::detach", "") \
  X(COPY_IN_PLACE, "aten::copy_", "") \
  X(ZERO_IN_PLACE, "aten::zero_", "") \
  X(ZEROS_LIKE, "aten::zeros_like", "") \
  X(ONES_LIKE, "aten::ones_like", "") \
  X(RAND_LIKE, "aten::rand_like", "") \
  X(LINEAR, "aten::linear", "") \
  X(CONV1D, "aten::conv1d", "") \
  X(CONV2D, "aten::conv2d", "") \
  X(CONV_TRANSPOSE2D, "aten::conv_transpose2d", "input") \
  X(MAX_POOL2D, "aten::max_pool2d", "") \
  X(AVG_POOL2D, "aten::avg_pool2d", "") \
  X(ADAPTIVE_AVG_POOL2D, "aten::adaptive_avg_pool2d", "") \
  X(UPSAMPLE_NEAREST2D, "aten::upsample_nearest2d", "vec") \
  X(UPSAMPLE_BILINEAR2D, "aten::upsample_bilinear2d", "vec") \
  X(EMBEDDING, "aten::embedding", "") \
  X(DROPOUT, "aten::dropout", "") \
  X(BATCH_NORM, "aten::batch_norm", "") \
  X(LAYER_NORM, "aten::layer_norm", "") \
  X(GROUP_NORM, "aten::group_norm", "") \
  X(RMS_NORM, "aten::rms_norm", "") \
  X(RELU, "aten::relu", "") \
  X(LEAKY_RELU, "aten::leaky_relu", "") \
  X(ELU, "aten::elu", "") \
  X(GELU, "aten::gelu", "") \
  X(SILU, "aten::silu", "") \
  X(HARDSWISH, "aten::hardswish", "") \
  X(SOFTPLUS, "aten::softplus", "") \
  X(SIGMOID, "aten::sigmoid", "") \
  X(TANH, "aten::tanh", "") \
  X(SOFTMAX, "aten::softmax", "int") \
  X(LOG_SOFTMAX, "aten::log_softmax", "int") \
  X(ATTENTION, "aten::scaled_dot_product_attention", "") \
  X(CROSS_ENTROPY_LOSS, "aten::cross_entropy_loss", "") \
  X(NLL_LOSS, "aten::nll_loss", "") \
  X(MSE_LOSS, "aten::mse_loss", "") \
  X(L1_LOSS, "aten::l1_loss", "") \
  X(SMOOTH_L1_LOSS, "aten::smooth_l1_loss", "") \
  X(HUBER_LOSS, "aten::huber_loss", "") \
  X(BCE_WITH_LOGITS, "aten::binary_cross_entropy_with_logits", "") \
  X(KL_DIV, "aten::kl_div", "")
/* clang-format on */

#define TENON_OPERATOR_NUMBER(name, aten_name, overload) TENON_OPERATOR_##name,
enum { TENON_FOR_EACH_OPERATOR(TENON_OPERATOR_NUMBER) TENON_OPERATOR_COUNT };
#undef TENON_OPERATOR_NUMBER

/* The operators that have been looked up. Each is looked up on first use, so that a plugin depends only on the
 * operators that it calls. Initialise it with tenon_ops_open(), in create() or in the entry function. Use it only on
 * the training thread, which fills it in; one for the whole plugin is enough. It owns nothing and has no function to
 * close it: the operators that it points to are valid until the process ends. */
typedef struct tenon_ops {
  const tenon_host* host;
  const tenon_op* found[TENON_OPERATOR_COUNT];
} tenon_ops;

static inline void tenon_ops_open(const tenon_host* host, tenon_ops* ops) {
  memset(ops, 0, sizeof *ops);
  ops->host = host;
}

/* The operator calls of one frame, with the first error. */
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

/* Calls any operator that returns `result_count` tensors. `op` caches the looked-up operator and must be null at first.
 * After an error all `results` are null. */
static inline void tenon_call_op_for(tenon_calls* calls, const tenon_op** op, const char* name, const char* overload,
                                     const tenon_value* args, uint64_t arg_count, tenon_tensor** results,
                                     uint64_t result_count) {
  enum { kMaxResults = 16 };
  const tenon_host* host = calls->ops->host;
  tenon_value values[kMaxResults];
  uint64_t i;
  for (i = 0; i < result_count; ++i) results[i] = NULL;
  if (calls->status == TENON_OK && result_count > kMaxResults) calls->status = TENON_INVALID_ARGUMENT;
  if (calls->status == TENON_OK && !*op) {
    calls->status = host->op(tenon_make_string(name, strlen(name)), tenon_make_string(overload, strlen(overload)), op);
  }
  if (calls->status == TENON_OK) {
    calls->status = host->call(calls->frame, *op, args, arg_count, NULL, 0, values, result_count);
  }
  if (calls->status != TENON_OK) return;
  /* The host created the handles as mutable; tenon_value stores them as const, as for arguments. A cast would be
   * reported by -Wcast-qual. */
  for (i = 0; i < result_count; ++i) {
    if (values[i].kind == TENON_VALUE_TENSOR) memcpy(&results[i], &values[i].as.p, sizeof results[i]);
  }
}

/* The same for an operator that returns one tensor. */
static inline tenon_tensor* tenon_call_op(tenon_calls* calls, const tenon_op** op, const char* name,
                                          const char* overload, const tenon_value* args, uint64_t arg_count) {
  tenon_tensor* result;
  tenon_call_op_for(calls, op, name, overload, args, arg_count, &result, 1);
  return result;
}

/* Calls an operator of the table above, by its number. */
static inline void tenon_apply_for(tenon_calls* calls, int number, const tenon_value* args, uint64_t arg_count,
                                   tenon_tensor** results, uint64_t result_count) {
#define TENON_OPERATOR_NAMES(name, aten_name, overload) {aten_name, overload},
  static const char* const kNames[][2] = {TENON_FOR_EACH_OPERATOR(TENON_OPERATOR_NAMES)};
#undef TENON_OPERATOR_NAMES
  tenon_call_op_for(calls, &calls->ops->found[number], kNames[number][0], kNames[number][1], args, arg_count, results,
                    result_count);
}

static inline tenon_tensor* tenon_apply(tenon_calls* calls, int number, const tenon_value* args, uint64_t arg_count) {
  tenon_tensor* result;
  tenon_apply_for(calls, number, args, arg_count, &result, 1);
  return result;
}

static inline tenon_tensor* tenon_apply_unary(tenon_calls* calls, int number, tenon_tensor* input) {
  const tenon_value argument = tenon_tensor_value(input);
  return tenon_apply(calls, number, &argument, 1);
}

static inline tenon_tensor* tenon_apply_binary(tenon_calls* calls, int number, tenon_tensor* left,
                                               tenon_tensor* right) {
  const tenon_value args[2] = {tenon_tensor_value(left), tenon_tensor_value(right)};
  return tenon_apply(calls, number, args, 2);
}

static inline tenon_tensor* tenon_apply_with(tenon_calls* calls, int number, tenon_tensor* input, tenon_value value) {
  const tenon_value args[2] = {tenon_tensor_value(input), value};
  return tenon_apply(calls, number, args, 2);
}

/* The extent of a dimension, or -1 after an error. A negative dimension counts from the end. */
static inline int64_t tenon_extent(tenon_calls* calls, const tenon_tensor* tensor, int64_t dim) {
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
