// ATen operators in C++: tenon::relu(tenon::linear(x, weight, bias)). They use the functions in tenon/ops, where each
// operator is documented. Operators are called through the host's dispatcher, so that autograd, autocast and no_grad
// apply. Names, shapes and type promotion are those of PyTorch. A plugin declares an operator by calling it. Call an
// operator that is missing here with Frame::call, and name it in tenon::operators({...}). Errors throw HostError.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops.h"
#include "tensor.hpp"

namespace tenon {

namespace detail {

// Calls a function of ops.h in the frame of its first argument.
template <class Function, class... Args>
Tensor call(Function function, const Tensor& first, const Args&... others) {
  return first.checked_frame().apply(function, first, others...);
}

template <class Number>
using IfNumber = std::enable_if_t<std::is_arithmetic_v<Number>, Tensor>;

// Whole numbers keep the dtype of integer tensors.
template <class Number>
Argument to_scalar(Number number) {
  if constexpr (std::is_integral_v<Number>) {
    return Argument(static_cast<int64_t>(number));
  } else {
    return Argument(static_cast<double>(number));
  }
}

}  // namespace detail

// ---- Arithmetic -----------------------------------------------------------------------------------------------------

inline Tensor operator+(const Tensor& left, const Tensor& right) { return detail::call(tenon_add, left, right); }
inline Tensor operator-(const Tensor& left, const Tensor& right) { return detail::call(tenon_sub, left, right); }
inline Tensor operator*(const Tensor& left, const Tensor& right) { return detail::call(tenon_mul, left, right); }
inline Tensor operator/(const Tensor& left, const Tensor& right) { return detail::call(tenon_div, left, right); }
inline Tensor operator-(const Tensor& input) { return detail::call(tenon_neg, input); }

template <class Number>
detail::IfNumber<Number> operator+(const Tensor& left, Number right) {
  return detail::call(tenon_add_scalar, left, detail::to_scalar(right));
}
template <class Number>
detail::IfNumber<Number> operator-(const Tensor& left, Number right) {
  return detail::call(tenon_sub_scalar, left, detail::to_scalar(right));
}
template <class Number>
detail::IfNumber<Number> operator*(const Tensor& left, Number right) {
  return detail::call(tenon_mul_scalar, left, detail::to_scalar(right));
}
template <class Number>
detail::IfNumber<Number> operator/(const Tensor& left, Number right) {
  return detail::call(tenon_div_scalar, left, detail::to_scalar(right));
}
template <class Number>
detail::IfNumber<Number> operator/(Number left, const Tensor& right) {
  return detail::call(tenon_mul_scalar, detail::call(tenon_reciprocal, right), detail::to_scalar(left));
}
template <class Number>
detail::IfNumber<Number> operator+(Number left, const Tensor& right) {
  return right + left;
}
template <class Number>
detail::IfNumber<Number> operator*(Number left, const Tensor& right) {
  return right * left;
}
template <class Number>
detail::IfNumber<Number> operator-(Number left, const Tensor& right) {
  return -right + left;
}

// In place.
inline const Tensor& operator+=(const Tensor& target, const Tensor& amount) {
  detail::call(tenon_add_in_place, target, amount);
  return target;
}
template <class Number, class = detail::IfNumber<Number>>
const Tensor& operator+=(const Tensor& target, Number amount) {
  detail::call(tenon_add_scalar_in_place, target, detail::to_scalar(amount));
  return target;
}
inline const Tensor& operator*=(const Tensor& target, const Tensor& factor) {
  detail::call(tenon_mul_in_place, target, factor);
  return target;
}
inline const Tensor& copy_in_place(const Tensor& target, const Tensor& source) {
  detail::call(tenon_copy_in_place, target, source);
  return target;
}
inline Tensor abs(const Tensor& input) { return detail::call(tenon_abs, input); }
inline Tensor exp(const Tensor& input) { return detail::call(tenon_exp, input); }
inline Tensor log(const Tensor& input) { return detail::call(tenon_log, input); }
inline Tensor sqrt(const Tensor& input) { return detail::call(tenon_sqrt, input); }
inline Tensor rsqrt(const Tensor& input) { return detail::call(tenon_rsqrt, input); }
inline Tensor sin(const Tensor& input) { return detail::call(tenon_sin, input); }
inline Tensor cos(const Tensor& input) { return detail::call(tenon_cos, input); }
inline Tensor floor(const Tensor& input) { return detail::call(tenon_floor, input); }
inline Tensor reciprocal(const Tensor& input) { return detail::call(tenon_reciprocal, input); }
inline Tensor sum(const Tensor& input) { return detail::call(tenon_sum, input); }
inline Tensor mean(const Tensor& input) { return detail::call(tenon_mean, input); }
inline Tensor pow(const Tensor& input, const Argument& exponent) {
  return detail::call(tenon_pow_scalar, input, exponent);
}
inline Tensor clamp(const Tensor& input, const Argument& minimum, const Argument& maximum) {
  return detail::call(tenon_clamp, input, minimum, maximum);
}
inline Tensor clamp_min(const Tensor& input, const Argument& minimum) {
  return detail::call(tenon_clamp_min, input, minimum);
}
inline Tensor clamp_max(const Tensor& input, const Argument& maximum) {
  return detail::call(tenon_clamp_max, input, maximum);
}
inline Tensor sum(const Tensor& input, const std::vector<int64_t>& dims, bool keep_dims = false) {
  return detail::call(tenon_sum_dims, input, dims.data(), dims.size(), keep_dims);
}
inline Tensor mean(const Tensor& input, const std::vector<int64_t>& dims, bool keep_dims = false) {
  return detail::call(tenon_mean_dims, input, dims.data(), dims.size(), keep_dims);
}
inline Tensor amax(const Tensor& input, const std::vector<int64_t>& dims, bool keep_dims = false) {
  return detail::call(tenon_amax, input, dims.data(), dims.size(), keep_dims);
}
inline Tensor amin(const Tensor& input, const std::vector<int64_t>& dims, bool keep_dims = false) {
  return detail::call(tenon_amin, input, dims.data(), dims.size(), keep_dims);
}
inline Tensor cumsum(const Tensor& input, int64_t dim) { return detail::call(tenon_cumsum, input, dim); }
inline Tensor maximum(const Tensor& left, const Tensor& right) { return detail::call(tenon_maximum, left, right); }
inline Tensor minimum(const Tensor& left, const Tensor& right) { return detail::call(tenon_minimum, left, right); }
inline Tensor matmul(const Tensor& left, const Tensor& right) { return detail::call(tenon_matmul, left, right); }

// ---- Comparison -----------------------------------------------------------------------------------------------------

// Named functions, because comparison operators that return tensors look like tests of equality.
inline Tensor eq(const Tensor& left, const Tensor& right) { return detail::call(tenon_eq, left, right); }
inline Tensor ne(const Tensor& left, const Tensor& right) { return detail::call(tenon_ne, left, right); }
inline Tensor gt(const Tensor& left, const Tensor& right) { return detail::call(tenon_gt, left, right); }
inline Tensor ge(const Tensor& left, const Tensor& right) { return detail::call(tenon_ge, left, right); }
inline Tensor lt(const Tensor& left, const Tensor& right) { return detail::call(tenon_lt, left, right); }
inline Tensor le(const Tensor& left, const Tensor& right) { return detail::call(tenon_le, left, right); }
inline Tensor eq(const Tensor& input, const Argument& number) { return detail::call(tenon_eq_scalar, input, number); }
inline Tensor ne(const Tensor& input, const Argument& number) { return detail::call(tenon_ne_scalar, input, number); }
inline Tensor gt(const Tensor& input, const Argument& number) { return detail::call(tenon_gt_scalar, input, number); }
inline Tensor ge(const Tensor& input, const Argument& number) { return detail::call(tenon_ge_scalar, input, number); }
inline Tensor lt(const Tensor& input, const Argument& number) { return detail::call(tenon_lt_scalar, input, number); }
inline Tensor le(const Tensor& input, const Argument& number) { return detail::call(tenon_le_scalar, input, number); }
inline Tensor logical_and(const Tensor& left, const Tensor& right) {
  return detail::call(tenon_logical_and, left, right);
}
inline Tensor logical_or(const Tensor& left, const Tensor& right) {
  return detail::call(tenon_logical_or, left, right);
}
inline Tensor logical_not(const Tensor& input) { return detail::call(tenon_logical_not, input); }
inline Tensor where(const Tensor& condition, const Tensor& if_true, const Tensor& if_false) {
  return detail::call(tenon_where, condition, if_true, if_false);
}
inline Tensor argmax(const Tensor& input, int64_t dim) { return detail::call(tenon_argmax, input, dim); }

struct TopK {
  Tensor values;
  Tensor indices;
};
inline TopK topk(const Tensor& input, int64_t k, int64_t dim = -1) {
  tenon_calls calls = tenon_begin(&detail::operators, input.checked_frame().get());
  tenon_tensor *values, *indices;
  tenon_topk(&calls, input.handle(), k, dim, &values, &indices);
  detail::check(calls.status);
  return {Tensor(values, input.frame()), Tensor(indices, input.frame())};
}

// All elements in order, and their indices.
inline TopK sort(const Tensor& input, int64_t dim = -1, bool descending = false) {
  tenon_calls calls = tenon_begin(&detail::operators, input.checked_frame().get());
  tenon_tensor *values, *indices;
  tenon_sort(&calls, input.handle(), dim, descending, &values, &indices);
  detail::check(calls.status);
  return {Tensor(values, input.frame()), Tensor(indices, input.frame())};
}

// ---- Shape ----------------------------------------------------------------------------------------------------------

inline Tensor reshape(const Tensor& input, const std::vector<int64_t>& shape) {
  return detail::call(tenon_reshape, input, shape.data(), shape.size());
}
inline Tensor flatten(const Tensor& input, int64_t first_dim = 0, int64_t last_dim = -1) {
  return detail::call(tenon_flatten, input, first_dim, last_dim);
}
inline Tensor transpose(const Tensor& input, int64_t dim, int64_t other_dim) {
  return detail::call(tenon_transpose, input, dim, other_dim);
}
inline Tensor permute(const Tensor& input, const std::vector<int64_t>& dims) {
  return detail::call(tenon_permute, input, dims.data(), dims.size());
}
inline Tensor squeeze(const Tensor& input, int64_t dim) { return detail::call(tenon_squeeze, input, dim); }
inline Tensor unsqueeze(const Tensor& input, int64_t dim) { return detail::call(tenon_unsqueeze, input, dim); }
inline Tensor expand(const Tensor& input, const std::vector<int64_t>& shape) {
  return detail::call(tenon_expand, input, shape.data(), shape.size());
}

namespace detail {

template <class Function>
Tensor join(Function function, const std::vector<Tensor>& tensors, int64_t dim) {
  if (tensors.empty()) throw Error(TENON_INVALID_ARGUMENT, "no tensors to join; expected at least one");
  const std::vector<tenon_tensor*> handles = handles_of(tensors);
  return tensors.front().checked_frame().apply(function, handles.data(), handles.size(), dim);
}

}  // namespace detail

inline Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) { return detail::join(tenon_cat, tensors, dim); }
inline Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) { return detail::join(tenon_stack, tensors, dim); }
inline std::vector<Tensor> chunk(const Tensor& input, uint64_t count, int64_t dim) {
  tenon_calls calls = tenon_begin(&detail::operators, input.checked_frame().get());
  std::vector<tenon_tensor*> parts(count);
  tenon_chunk(&calls, input.handle(), count, dim, parts.data());
  detail::check(calls.status);
  std::vector<Tensor> tensors;
  for (tenon_tensor* part : parts) tensors.emplace_back(part, input.frame());
  return tensors;
}
inline Tensor select(const Tensor& input, int64_t dim, int64_t index) {
  return detail::call(tenon_select, input, dim, index);
}
inline Tensor slice(const Tensor& input, int64_t dim, int64_t start, int64_t end = std::numeric_limits<int64_t>::max(),
                    int64_t step = 1) {
  return detail::call(tenon_slice, input, dim, start, end, step);
}
inline Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index) {
  return detail::call(tenon_index_select, input, dim, index);
}
inline Tensor gather(const Tensor& input, int64_t dim, const Tensor& index) {
  return detail::call(tenon_gather, input, dim, index);
}
inline Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  return detail::call(tenon_scatter, input, dim, index, source);
}
inline Tensor scatter_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  return detail::call(tenon_scatter_add, input, dim, index, source);
}
inline Tensor pad(const Tensor& input, const std::vector<int64_t>& pad, const Argument& value = 0) {
  return detail::call(tenon_pad, input, pad.data(), pad.size(), value);
}
inline Tensor masked_fill(const Tensor& input, const Tensor& mask, const Argument& value) {
  return detail::call(tenon_masked_fill, input, mask, value);
}
inline Tensor one_hot(const Tensor& classes, int64_t class_count) {
  return detail::call(tenon_one_hot, classes, class_count);
}
inline Tensor to_dtype(const Tensor& input, int32_t dtype) { return detail::call(tenon_to_dtype, input, dtype); }
inline Tensor to_like(const Tensor& input, const Tensor& like, bool non_blocking = false) {
  return like.checked_frame().apply(tenon_to_like, input, like, non_blocking);
}
inline Tensor contiguous(const Tensor& input) { return detail::call(tenon_contiguous, input); }
inline Tensor detach(const Tensor& input) { return detail::call(tenon_detach, input); }
inline Tensor zeros_like(const Tensor& input) { return detail::call(tenon_zeros_like, input); }
inline Tensor ones_like(const Tensor& input) { return detail::call(tenon_ones_like, input); }
inline Tensor new_ones(const Tensor& like, const std::vector<int64_t>& shape) {
  return detail::call(tenon_new_ones, like, shape.data(), shape.size());
}
// [count]: 0, 1, ... on the device of `like`.
inline Tensor arange(const Tensor& like, int64_t count, int32_t dtype = TENON_INT64) {
  return detail::call(tenon_arange, like, count, dtype);
}
inline Tensor rand_like(const Tensor& input) { return detail::call(tenon_rand_like, input); }

// ---- Networks -------------------------------------------------------------------------------------------------------

inline Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {}) {
  return detail::call(tenon_linear, input, weight, bias);
}
inline Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, int64_t stride = 1,
                     int64_t padding = 0, int64_t dilation = 1, int64_t groups = 1) {
  return detail::call(tenon_conv1d, input, weight, bias, stride, padding, dilation, groups);
}
inline Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, int64_t stride = 1,
                     int64_t padding = 0, int64_t dilation = 1, int64_t groups = 1) {
  return detail::call(tenon_conv2d, input, weight, bias, stride, padding, dilation, groups);
}
inline Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, int64_t stride = 1,
                               int64_t padding = 0, int64_t output_padding = 0, int64_t groups = 1) {
  return detail::call(tenon_conv_transpose2d, input, weight, bias, stride, padding, output_padding, groups);
}
// A stride of 0 uses the kernel size.
inline Tensor max_pool2d(const Tensor& input, int64_t kernel, int64_t stride = 0, int64_t padding = 0) {
  return detail::call(tenon_max_pool2d, input, kernel, stride == 0 ? kernel : stride, padding);
}
inline Tensor avg_pool2d(const Tensor& input, int64_t kernel, int64_t stride = 0, int64_t padding = 0) {
  return detail::call(tenon_avg_pool2d, input, kernel, stride == 0 ? kernel : stride, padding);
}
inline Tensor adaptive_avg_pool2d(const Tensor& input, int64_t height, int64_t width) {
  return detail::call(tenon_adaptive_avg_pool2d, input, height, width);
}
inline Tensor upsample_nearest2d(const Tensor& input, int64_t height, int64_t width) {
  return detail::call(tenon_upsample_nearest2d, input, height, width);
}
inline Tensor upsample_bilinear2d(const Tensor& input, int64_t height, int64_t width, bool align_corners = false) {
  return detail::call(tenon_upsample_bilinear2d, input, height, width, align_corners);
}
inline Tensor embedding(const Tensor& weight, const Tensor& indices) {
  return detail::call(tenon_embedding, weight, indices);
}
inline Tensor dropout(const Tensor& input, double probability) {
  return detail::call(tenon_dropout, input, probability);
}
inline Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                         const Tensor& running_var, double momentum = 0.1, double eps = 1e-5) {
  return detail::call(tenon_batch_norm, input, weight, bias, running_mean, running_var, momentum, eps);
}
inline Tensor layer_norm(const Tensor& input, const std::vector<int64_t>& shape, const Tensor& weight = {},
                         const Tensor& bias = {}, double eps = 1e-5) {
  return detail::call(tenon_layer_norm, input, shape.data(), shape.size(), weight, bias, eps);
}
inline Tensor group_norm(const Tensor& input, int64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                         double eps = 1e-5) {
  return detail::call(tenon_group_norm, input, groups, weight, bias, eps);
}
inline Tensor rms_norm(const Tensor& input, const std::vector<int64_t>& shape, const Tensor& weight = {},
                       double eps = 1e-6) {
  return detail::call(tenon_rms_norm, input, shape.data(), shape.size(), weight, eps);
}
inline Tensor relu(const Tensor& input) { return detail::call(tenon_relu, input); }
inline Tensor gelu(const Tensor& input) { return detail::call(tenon_gelu, input); }
inline Tensor silu(const Tensor& input) { return detail::call(tenon_silu, input); }
inline Tensor hardswish(const Tensor& input) { return detail::call(tenon_hardswish, input); }
inline Tensor softplus(const Tensor& input) { return detail::call(tenon_softplus, input); }
inline Tensor sigmoid(const Tensor& input) { return detail::call(tenon_sigmoid, input); }
inline Tensor tanh(const Tensor& input) { return detail::call(tenon_tanh, input); }
inline Tensor leaky_relu(const Tensor& input, double negative_slope = 0.01) {
  return detail::call(tenon_leaky_relu, input, negative_slope);
}
inline Tensor elu(const Tensor& input, double alpha = 1) { return detail::call(tenon_elu, input, alpha); }
inline Tensor softmax(const Tensor& input, int64_t dim) { return detail::call(tenon_softmax, input, dim); }
inline Tensor log_softmax(const Tensor& input, int64_t dim) { return detail::call(tenon_log_softmax, input, dim); }
inline Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask = {},
                        double dropout = 0, bool is_causal = false) {
  return detail::call(tenon_attention, query, key, value, mask, dropout, is_causal);
}

// ---- Losses; reduction: TENON_REDUCTION_MEAN ... --------------------------------------------------------------------

inline Tensor cross_entropy_loss(const Tensor& logits, const Tensor& target, int64_t reduction = TENON_REDUCTION_MEAN,
                                 int64_t ignore_index = -100, double label_smoothing = 0,
                                 const Tensor& class_weights = {}) {
  return detail::call(tenon_cross_entropy_loss, logits, target, class_weights, reduction, ignore_index,
                      label_smoothing);
}
inline Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, int64_t reduction = TENON_REDUCTION_MEAN,
                       int64_t ignore_index = -100, const Tensor& class_weights = {}) {
  return detail::call(tenon_nll_loss, log_probabilities, target, class_weights, reduction, ignore_index);
}
inline Tensor mse_loss(const Tensor& input, const Tensor& target, int64_t reduction = TENON_REDUCTION_MEAN) {
  return detail::call(tenon_mse_loss, input, target, reduction);
}
inline Tensor l1_loss(const Tensor& input, const Tensor& target, int64_t reduction = TENON_REDUCTION_MEAN) {
  return detail::call(tenon_l1_loss, input, target, reduction);
}
inline Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, int64_t reduction = TENON_REDUCTION_MEAN,
                             double beta = 1) {
  return detail::call(tenon_smooth_l1_loss, input, target, reduction, beta);
}
inline Tensor huber_loss(const Tensor& input, const Tensor& target, int64_t reduction = TENON_REDUCTION_MEAN,
                         double delta = 1) {
  return detail::call(tenon_huber_loss, input, target, reduction, delta);
}
inline Tensor bce_with_logits(const Tensor& logits, const Tensor& target, int64_t reduction = TENON_REDUCTION_MEAN,
                              const Tensor& weight = {}, const Tensor& positive_weight = {}) {
  return detail::call(tenon_bce_with_logits, logits, target, weight, positive_weight, reduction);
}
inline Tensor kl_div(const Tensor& log_probabilities, const Tensor& target, int64_t reduction = TENON_REDUCTION_MEAN) {
  return detail::call(tenon_kl_div, log_probabilities, target, reduction);
}

}  // namespace tenon
