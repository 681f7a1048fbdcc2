#include "framework/operators/attention_backward.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_native.h>
#include <torch/types.h>

#include <algorithm>

namespace tenon::operators {

namespace {

// The size of LibTorch's blocks.
int64_t queries_of_block(int64_t queries) {
  const int64_t most = queries < 192 ? 32 : queries < 768 ? 64 : 256;
  return std::min(queries, most);
}
constexpr int64_t kKeysOfBlock = 512;

bool is_faster_in_float(const at::Tensor& query, const at::Tensor& key) {
  constexpr int64_t kMultiplications = 1 << 19;  // of one product
  return at::isReducedFloatingType(query.scalar_type()) && query.dim() == 4 && key.dim() == 4 &&
         queries_of_block(query.size(2)) * std::min(key.size(2), kKeysOfBlock) * query.size(3) <= kMultiplications;
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(const at::Tensor& output_gradient,
                                                                  const at::Tensor& query, const at::Tensor& key,
                                                                  const at::Tensor& value, const at::Tensor& output,
                                                                  const at::Tensor& log_sum, double dropout,
                                                                  bool is_causal, const std::optional<at::Tensor>& mask,
                                                                  std::optional<double> scale) {
  const auto compute = at::native::_scaled_dot_product_flash_attention_cpu_backward;
  if (!is_faster_in_float(query, key))
    return compute(output_gradient, query, key, value, output, log_sum, dropout, is_causal, mask, scale);
  // A mask has the type of the query, or it is float.
  const auto float_mask = mask && mask->defined() ? std::optional(mask->to(at::kFloat)) : std::nullopt;
  const auto [of_query, of_key, of_value] =
      compute(output_gradient.to(at::kFloat), query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat),
              output.to(at::kFloat), log_sum, dropout, is_causal, float_mask, scale);
  const at::ScalarType type = query.scalar_type();
  return {of_query.to(type), of_key.to(type), of_value.to(type)};
}

}  // namespace tenon::operators
