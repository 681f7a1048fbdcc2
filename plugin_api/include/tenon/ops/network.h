/* Layers of networks. Images are [N, C, H, W]. A number for kernel, stride, padding or dilation applies to both
 * directions. */
#ifndef TENON_OPS_NETWORK_H
#define TENON_OPS_NETWORK_H

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* input: [..., I]; weight: [O, I]; bias: [O] or null. Returns [..., O]. */
TENON_INLINE tenon_tensor* tenon_linear(tenon_calls* calls, tenon_tensor* input, tenon_tensor* weight,
                                        tenon_tensor* bias) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_tensor_value(weight), tenon_tensor_value(bias)};
  return tenon_apply(calls, tenon_operator_linear(), args, 3);
}

/* input: [N, C, L]; weight: [O, C / groups, K]; bias: [O] or null. */
TENON_INLINE tenon_tensor* tenon_conv1d(tenon_calls* calls, tenon_tensor* input, tenon_tensor* weight,
                                        tenon_tensor* bias, int64_t stride, int64_t padding, int64_t dilation,
                                        int64_t groups) {
  const tenon_value args[7] = {tenon_tensor_value(input), tenon_tensor_value(weight), tenon_tensor_value(bias),
                               tenon_int(stride),         tenon_int(padding),         tenon_int(dilation),
                               tenon_int(groups)};
  return tenon_apply(calls, tenon_operator_conv1d(), args, 7);
}

/* input: [N, C, H, W]; weight: [O, C / groups, K, K]; bias: [O] or null. */
TENON_INLINE tenon_tensor* tenon_conv2d(tenon_calls* calls, tenon_tensor* input, tenon_tensor* weight,
                                        tenon_tensor* bias, int64_t stride, int64_t padding, int64_t dilation,
                                        int64_t groups) {
  const tenon_value args[7] = {tenon_tensor_value(input), tenon_tensor_value(weight), tenon_tensor_value(bias),
                               tenon_int(stride),         tenon_int(padding),         tenon_int(dilation),
                               tenon_int(groups)};
  return tenon_apply(calls, tenon_operator_conv2d(), args, 7);
}

/* weight: [C, O / groups, K, K]; bias: [O] or null. */
TENON_INLINE tenon_tensor* tenon_conv_transpose2d(tenon_calls* calls, tenon_tensor* input, tenon_tensor* weight,
                                                  tenon_tensor* bias, int64_t stride, int64_t padding,
                                                  int64_t output_padding, int64_t groups) {
  const tenon_value args[7] = {tenon_tensor_value(input), tenon_tensor_value(weight), tenon_tensor_value(bias),
                               tenon_int(stride),         tenon_int(padding),         tenon_int(output_padding),
                               tenon_int(groups)};
  return tenon_apply(calls, tenon_operator_conv_transpose2d(), args, 7);
}

TENON_INLINE tenon_tensor* tenon_max_pool2d(tenon_calls* calls, tenon_tensor* input, int64_t kernel, int64_t stride,
                                            int64_t padding) {
  const tenon_value args[4] = {tenon_tensor_value(input), tenon_int(kernel), tenon_int(stride), tenon_int(padding)};
  return tenon_apply(calls, tenon_operator_max_pool2d(), args, 4);
}

/* Average pooling. The padding counts as zeros. */
TENON_INLINE tenon_tensor* tenon_avg_pool2d(tenon_calls* calls, tenon_tensor* input, int64_t kernel, int64_t stride,
                                            int64_t padding) {
  const tenon_value args[4] = {tenon_tensor_value(input), tenon_int(kernel), tenon_int(stride), tenon_int(padding)};
  return tenon_apply(calls, tenon_operator_avg_pool2d(), args, 4);
}

/* Average pooling to [N, C, height, width]. */
TENON_INLINE tenon_tensor* tenon_adaptive_avg_pool2d(tenon_calls* calls, tenon_tensor* input, int64_t height,
                                                     int64_t width) {
  const int64_t size[2] = {height, width};
  return tenon_apply_with(calls, tenon_operator_adaptive_avg_pool2d(), input, tenon_ints(size, 2));
}

/* Nearest-neighbour resize to [N, C, height, width]. */
TENON_INLINE tenon_tensor* tenon_upsample_nearest2d(tenon_calls* calls, tenon_tensor* input, int64_t height,
                                                    int64_t width) {
  const int64_t size[2] = {height, width};
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_ints(size, 2), tenon_none()};
  return tenon_apply(calls, tenon_operator_upsample_nearest2d(), args, 3);
}

/* Bilinear resize to [N, C, height, width]. */
TENON_INLINE tenon_tensor* tenon_upsample_bilinear2d(tenon_calls* calls, tenon_tensor* input, int64_t height,
                                                     int64_t width, int align_corners) {
  const int64_t size[2] = {height, width};
  const tenon_value args[4] = {tenon_tensor_value(input), tenon_ints(size, 2), tenon_bool(align_corners), tenon_none()};
  return tenon_apply(calls, tenon_operator_upsample_bilinear2d(), args, 4);
}

/* weight: [V, D]; indices: [...] int64 in [0, V). Returns [..., D]. */
TENON_INLINE tenon_tensor* tenon_embedding(tenon_calls* calls, tenon_tensor* weight, tenon_tensor* indices) {
  const tenon_value args[2] = {tenon_tensor_value(weight), tenon_tensor_value(indices)};
  return tenon_apply(calls, tenon_operator_embedding(), args, 2);
}

/* In training, zeroes elements with this probability and scales the others by 1 / (1 - probability). In evaluation,
 * returns input. */
TENON_INLINE tenon_tensor* tenon_dropout(tenon_calls* calls, tenon_tensor* input, double probability) {
  const tenon_value args[3] = {tenon_tensor_value(input), tenon_float(probability),
                               tenon_bool(calls->frame->training != 0)};
  return tenon_apply(calls, tenon_operator_dropout(), args, 3);
}

/* Ioffe and Szegedy, arXiv:1502.03167. In training, normalises with the statistics of the batch and updates
 * running_mean and running_var ([C], buffers). In evaluation, normalises with these buffers. weight and bias: [C] or
 * null. */
TENON_INLINE tenon_tensor* tenon_batch_norm(tenon_calls* calls, tenon_tensor* input, tenon_tensor* weight,
                                            tenon_tensor* bias, tenon_tensor* running_mean, tenon_tensor* running_var,
                                            double momentum, double eps) {
  const tenon_value args[9] = {tenon_tensor_value(input),
                               tenon_tensor_value(weight),
                               tenon_tensor_value(bias),
                               tenon_tensor_value(running_mean),
                               tenon_tensor_value(running_var),
                               tenon_bool(calls->frame->training != 0),
                               tenon_float(momentum),
                               tenon_float(eps),
                               tenon_bool(1)};
  return tenon_apply(calls, tenon_operator_batch_norm(), args, 9);
}

/* Ba et al., arXiv:1607.06450, over the last dimensions, which have the shape `shape`. weight and bias: `shape`, or
 * null. */
TENON_INLINE tenon_tensor* tenon_layer_norm(tenon_calls* calls, tenon_tensor* input, const int64_t* shape,
                                            uint64_t shape_count, tenon_tensor* weight, tenon_tensor* bias,
                                            double eps) {
  const tenon_value args[5] = {tenon_tensor_value(input), tenon_ints(shape, shape_count), tenon_tensor_value(weight),
                               tenon_tensor_value(bias), tenon_float(eps)};
  return tenon_apply(calls, tenon_operator_layer_norm(), args, 5);
}

/* Wu and He, arXiv:1803.08494. weight and bias: [C] or null. */
TENON_INLINE tenon_tensor* tenon_group_norm(tenon_calls* calls, tenon_tensor* input, int64_t groups,
                                            tenon_tensor* weight, tenon_tensor* bias, double eps) {
  const tenon_value args[5] = {tenon_tensor_value(input), tenon_int(groups), tenon_tensor_value(weight),
                               tenon_tensor_value(bias), tenon_float(eps)};
  return tenon_apply(calls, tenon_operator_group_norm(), args, 5);
}

/* Zhang and Sennrich, arXiv:1910.07467. weight: `shape`, or null. */
TENON_INLINE tenon_tensor* tenon_rms_norm(tenon_calls* calls, tenon_tensor* input, const int64_t* shape,
                                          uint64_t shape_count, tenon_tensor* weight, double eps) {
  const tenon_value args[4] = {tenon_tensor_value(input), tenon_ints(shape, shape_count), tenon_tensor_value(weight),
                               tenon_float(eps)};
  return tenon_apply(calls, tenon_operator_rms_norm(), args, 4);
}

TENON_INLINE tenon_tensor* tenon_relu(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_relu(), input);
}

TENON_INLINE tenon_tensor* tenon_leaky_relu(tenon_calls* calls, tenon_tensor* input, double negative_slope) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_float(negative_slope)};
  return tenon_apply(calls, tenon_operator_leaky_relu(), args, 2);
}

TENON_INLINE tenon_tensor* tenon_elu(tenon_calls* calls, tenon_tensor* input, double alpha) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_float(alpha)};
  return tenon_apply(calls, tenon_operator_elu(), args, 2);
}

/* Hendrycks and Gimpel, arXiv:1606.08415, exact. */
TENON_INLINE tenon_tensor* tenon_gelu(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_gelu(), input);
}

/* x * sigmoid(x). */
TENON_INLINE tenon_tensor* tenon_silu(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_silu(), input);
}

TENON_INLINE tenon_tensor* tenon_hardswish(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_hardswish(), input);
}

TENON_INLINE tenon_tensor* tenon_softplus(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_softplus(), input);
}

TENON_INLINE tenon_tensor* tenon_sigmoid(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_sigmoid(), input);
}

TENON_INLINE tenon_tensor* tenon_tanh(tenon_calls* calls, tenon_tensor* input) {
  return tenon_apply_unary(calls, tenon_operator_tanh(), input);
}

TENON_INLINE tenon_tensor* tenon_softmax(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_apply(calls, tenon_operator_softmax(), args, 2);
}

TENON_INLINE tenon_tensor* tenon_log_softmax(tenon_calls* calls, tenon_tensor* input, int64_t dim) {
  const tenon_value args[2] = {tenon_tensor_value(input), tenon_int(dim)};
  return tenon_apply(calls, tenon_operator_log_softmax(), args, 2);
}

/* Scaled dot-product attention, Vaswani et al., arXiv:1706.03762. query: [N, heads, L, E]; key: [N, heads, S, E];
 * value: [N, heads, S, V]. mask: boolean (true: attend) or added to the scores, broadcast to [N, heads, L, S], or null;
 * not allowed together with is_causal. Returns [N, heads, L, V]. */
TENON_INLINE tenon_tensor* tenon_attention(tenon_calls* calls, tenon_tensor* query, tenon_tensor* key,
                                           tenon_tensor* value, tenon_tensor* mask, double dropout, int is_causal) {
  const tenon_value args[6] = {tenon_tensor_value(query), tenon_tensor_value(key), tenon_tensor_value(value),
                               tenon_tensor_value(mask),  tenon_float(dropout),    tenon_bool(is_causal)};
  return tenon_apply(calls, tenon_operator_attention(), args, 6);
}

#ifdef __cplusplus
}
#endif
#endif
