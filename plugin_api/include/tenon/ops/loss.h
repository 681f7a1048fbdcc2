/* Losses of torch.nn.functional. */
#ifndef TENON_OPS_LOSS_H
#define TENON_OPS_LOSS_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TENON_REDUCTION_NONE = 0, TENON_REDUCTION_MEAN = 1, TENON_REDUCTION_SUM = 2 };

/* Softmax cross entropy. logits: [N, C, ...]; target: [N, ...] int64 in [0, C), or ignore_index; class_weights: [C] or
 * null. Label smoothing: Szegedy et al., arXiv:1512.00567. */
TENON_INLINE tenon_tensor* tenon_cross_entropy_loss(tenon_calls* calls, tenon_tensor* logits, tenon_tensor* target,
                                                    tenon_tensor* class_weights, int64_t reduction,
                                                    int64_t ignore_index, double label_smoothing) {
  const tenon_value args[6] = {tenon_tensor_value(logits),        tenon_tensor_value(target),
                               tenon_tensor_value(class_weights), tenon_int(reduction),
                               tenon_int(ignore_index),           tenon_float(label_smoothing)};
  return tenon_apply(calls, tenon_operator_cross_entropy_loss(), args, 6);
}

/* log_probabilities: [N, C]; target: [N] int64. */
TENON_INLINE tenon_tensor* tenon_nll_loss(tenon_calls* calls, tenon_tensor* log_probabilities, tenon_tensor* target,
                                          tenon_tensor* class_weights, int64_t reduction, int64_t ignore_index) {
  const tenon_value args[5] = {tenon_tensor_value(log_probabilities), tenon_tensor_value(target),
                               tenon_tensor_value(class_weights), tenon_int(reduction), tenon_int(ignore_index)};
  return tenon_apply(calls, tenon_operator_nll_loss(), args, 5);
}

/* The squared difference. */
TENON_INLINE tenon_tensor* tenon_mse_loss(tenon_calls* calls, tenon_tensor* input, tenon_tensor* target,
                                          int64_t reduction) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_tensor_value(target), tenon_int(reduction)};
  return tenon_apply(calls, tenon_operator_mse_loss(), args, 3);
}

/* The absolute difference. */
TENON_INLINE tenon_tensor* tenon_l1_loss(tenon_calls* calls, tenon_tensor* input, tenon_tensor* target,
                                         int64_t reduction) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_tensor_value(target), tenon_int(reduction)};
  return tenon_apply(calls, tenon_operator_l1_loss(), args, 3);
}

/* Girshick, arXiv:1504.08083. */
TENON_INLINE tenon_tensor* tenon_smooth_l1_loss(tenon_calls* calls, tenon_tensor* input, tenon_tensor* target,
                                                int64_t reduction, double beta) {
  const tenon_value args[4] = {tenon_tensor_value(input), tenon_tensor_value(target), tenon_int(reduction),
                               tenon_float(beta)};
  return tenon_apply(calls, tenon_operator_smooth_l1_loss(), args, 4);
}

TENON_INLINE tenon_tensor* tenon_huber_loss(tenon_calls* calls, tenon_tensor* input, tenon_tensor* target,
                                            int64_t reduction, double delta) {
  const tenon_value args[4] = {tenon_tensor_value(input), tenon_tensor_value(target), tenon_int(reduction),
                               tenon_float(delta)};
  return tenon_apply(calls, tenon_operator_huber_loss(), args, 4);
}

/* Binary cross entropy of sigmoid(logits). target: in [0, 1], with the shape of logits; weight: broadcast, or null;
 * positive_weight: [C] or null. */
TENON_INLINE tenon_tensor* tenon_bce_with_logits(tenon_calls* calls, tenon_tensor* logits, tenon_tensor* target,
                                                 tenon_tensor* weight, tenon_tensor* positive_weight,
                                                 int64_t reduction) {
  const tenon_value args[5] = {tenon_tensor_value(logits), tenon_tensor_value(target), tenon_tensor_value(weight),
                               tenon_tensor_value(positive_weight), tenon_int(reduction)};
  return tenon_apply(calls, tenon_operator_bce_with_logits(), args, 5);
}

/* Kullback-Leibler divergence. target: probabilities. The mean divides by the number of elements. */
TENON_INLINE tenon_tensor* tenon_kl_div(tenon_calls* calls, tenon_tensor* log_probabilities, tenon_tensor* target,
                                        int64_t reduction) {
  const tenon_value args[3] = {tenon_tensor_value(log_probabilities), tenon_tensor_value(target), tenon_int(reduction)};
  return tenon_apply(calls, tenon_operator_kl_div(), args, 3);
}

#ifdef __cplusplus
}
#endif
#endif
