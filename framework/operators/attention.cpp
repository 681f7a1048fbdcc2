#include "framework/operators/replaced_operators.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward_native.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_native.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "framework/operators/attention_kernels.h"
#include "framework/operators/for_each_part.h"

namespace tenon::operators {

namespace {

constexpr int64_t kMultiplicationsPerThread = 1 << 17;

// Whether the loops for float are faster than LibTorch's kernel.
bool is_short(const at::Tensor& query, const at::Tensor& key) {
  constexpr int64_t kMostKeys = 1024, kLargestHead = 128, kFewestQueries = 8;
  const int64_t keys = key.size(2), size = query.size(3);
  return query.size(2) >= kFewestQueries && keys > 0 && keys <= kMostKeys && size > 0 &&
         size <= std::min(kLargestHead, 2 * keys);
}

// The size of LibTorch's blocks.
int64_t queries_of_block(int64_t queries) {
  const int64_t most = queries < 192 ? 32 : queries < 768 ? 64 : 256;
  return std::min(queries, most);
}
constexpr int64_t kKeysOfBlock = 512;

bool is_faster_in_float(const at::Tensor& query, const at::Tensor& key) {
  if (!at::isReducedFloatingType(query.scalar_type()) || query.dim() != 4 || key.dim() != 4) return false;
  const int64_t multiplications =  // of one product
      queries_of_block(query.size(2)) * std::min(key.size(2), kKeysOfBlock) * query.size(3);
  return multiplications <= (is_short(query, key) ? 1 << 20 : 1 << 19);
}

bool is_float(const at::Tensor& tensor) { return tensor.scalar_type() == at::kFloat; }

bool has_contiguous_rows(const at::Tensor& tensor) { return tensor.stride(-1) == 1 || tensor.size(-1) == 1; }

// The kernel reads [batch or 1, heads or 1, queries or 1, keys or 1], without the first two also.
bool is_mask_for(const at::Tensor& mask, const at::Tensor& query, const at::Tensor& key) {
  const int64_t dimensions = mask.dim();
  if (!is_float(mask) || (dimensions != 2 && dimensions != 4)) return false;
  const int64_t sizes[4] = {query.size(0), query.size(1), query.size(2), key.size(2)};
  for (int64_t i = 1; i <= dimensions; ++i)
    if (mask.size(-i) != 1 && mask.size(-i) != sizes[4 - i]) return false;
  return true;
}

bool has_fast_kernel(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double dropout,
                     const std::optional<at::Tensor>& mask) {
  for (const at::Tensor* one : {&query, &key, &value})
    if (!is_float(*one) || one->dim() != 4 || !has_contiguous_rows(*one)) return false;
  return dropout == 0 && key.sizes() == value.sizes() && query.size(0) == key.size(0) && query.size(1) == key.size(1) &&
         query.size(3) == key.size(3) && is_short(query, key) &&
         (!mask || !mask->defined() || is_mask_for(*mask, query, key));
}

// Returns the rows of one head of a sample, from a tensor [batch, heads, rows, columns].
template <typename Value>
Rows<Value> rows_of(const at::Tensor& tensor, int64_t sample, int64_t head) {
  Value* data = nullptr;
  if constexpr (std::is_const_v<Value>)
    data = tensor.const_data_ptr<float>();
  else
    data = tensor.mutable_data_ptr<float>();
  return {data + sample * tensor.stride(0) + head * tensor.stride(1), tensor.stride(2)};
}

// All heads of all samples.
struct Heads {
  const at::Tensor &query, &key, &value;
  const at::Tensor mask;  // [batch, heads, queries, keys] of any strides, or undefined
  float scale;
  bool is_causal;

  Heads(const at::Tensor& query_, const at::Tensor& key_, const at::Tensor& value_, bool is_causal_,
        const std::optional<at::Tensor>& mask_, std::optional<double> scale_)
      : query(query_),
        key(key_),
        value(value_),
        mask(mask_ && mask_->defined() ? mask_->expand({query.size(0), query.size(1), query.size(2), key.size(2)})
                                       : at::Tensor()),
        scale(static_cast<float>(scale_.value_or(1 / std::sqrt(static_cast<double>(query.size(3)))))),
        is_causal(is_causal_) {}

  AttentionHead at(int64_t sample, int64_t head) const {
    return {query.size(2),
            key.size(2),
            query.size(3),
            rows_of<const float>(query, sample, head),
            rows_of<const float>(key, sample, head),
            rows_of<const float>(value, sample, head),
            mask.defined() ? rows_of<const float>(mask, sample, head) : Rows<const float>{},
            mask.defined() ? mask.stride(3) : 0,
            scale,
            is_causal};
  }

  // Calls visit(sample, head, slice, workspace) for each, on several threads.
  template <typename Visit>
  void visit(int64_t slices, int64_t workspace, const Visit& visit) const {
    const int64_t heads = query.size(1);
    const bool is_nested = at::in_parallel_region();  // then this thread computes all
    const at::Tensor workspaces = at::empty({is_nested ? 1 : at::get_num_threads(), workspace}, at::kFloat);
    float* const all = workspaces.mutable_data_ptr<float>();
    const int64_t multiplications = query.size(2) * key.size(2) * query.size(3) / slices;
    for_each_part(query.size(0) * heads * slices, std::max<int64_t>(1, kMultiplicationsPerThread / multiplications),
                  [&](int64_t part) {
                    const int64_t head = part / slices;
                    visit(head / heads, head % heads, part % slices,
                          all + (is_nested ? 0 : at::get_thread_num()) * workspace);
                  });
  }
};

// A tensor [batch, heads, rows, columns] with the strides of LibTorch's gradients.
at::Tensor make_gradient(const at::Tensor& like) {
  return at::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options()).transpose(1, 2);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                             double dropout, bool is_causal, const std::optional<at::Tensor>& mask,
                                             std::optional<double> scale) {
  if (!has_fast_kernel(query, key, value, dropout, mask))
    return at::native::_scaled_dot_product_flash_attention_cpu(query, key, value, dropout, is_causal, mask, scale);
  const Heads heads(query, key, value, is_causal, mask, scale);
  at::Tensor output = at::empty_like(query);
  if (!has_contiguous_rows(output)) output = at::empty_like(query, at::MemoryFormat::Contiguous);
  const at::Tensor log_sum = at::empty({query.size(0), query.size(2), query.size(1)}, query.options()).transpose(1, 2);
  const AttentionKernels& kernels = attention_kernels();
  // Keys and values are copied for each slice of the queries.
  constexpr int64_t kQueriesOfSlice = 256;
  const int64_t queries = query.size(2);
  heads.visit((queries + kQueriesOfSlice - 1) / kQueriesOfSlice, attention_workspace(key.size(2), query.size(3)),
              [&](int64_t sample, int64_t head, int64_t slice, float* workspace) {
                const int64_t first = slice * kQueriesOfSlice;
                kernels.compute(heads.at(sample, head), first, std::min(first + kQueriesOfSlice, queries), workspace,
                                {rows_of<float>(output, sample, head), rows_of<float>(log_sum, sample, head)});
              });
  return {output, log_sum};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(const at::Tensor& output_gradient,
                                                                  const at::Tensor& query, const at::Tensor& key,
                                                                  const at::Tensor& value, const at::Tensor& output,
                                                                  const at::Tensor& log_sum, double dropout,
                                                                  bool is_causal, const std::optional<at::Tensor>& mask,
                                                                  std::optional<double> scale) {
  if (output_gradient.defined() && is_faster_in_float(query, key)) {
    // A mask has the type of the query, or it is float.
    const auto float_mask = mask && mask->defined() ? std::optional(mask->to(at::kFloat)) : std::nullopt;
    const auto [of_query, of_key, of_value] =
        attention_backward(output_gradient.to(at::kFloat), query.to(at::kFloat), key.to(at::kFloat),
                           value.to(at::kFloat), output.to(at::kFloat), log_sum, dropout, is_causal, float_mask, scale);
    const at::ScalarType type = query.scalar_type();
    return {of_query.to(type), of_key.to(type), of_value.to(type)};
  }
  const bool is_fast = has_fast_kernel(query, key, value, dropout, mask) && output_gradient.sizes() == query.sizes() &&
                       is_float(output_gradient) && output.sizes() == query.sizes() && is_float(output) &&
                       has_contiguous_rows(output) && is_float(log_sum) && log_sum.sizes() == query.sizes().slice(0, 3);
  if (!is_fast)
    return at::native::_scaled_dot_product_flash_attention_cpu_backward(output_gradient, query, key, value, output,
                                                                        log_sum, dropout, is_causal, mask, scale);
  const at::Tensor of_output = has_contiguous_rows(output_gradient) ? output_gradient : output_gradient.contiguous();
  const Heads heads(query, key, value, is_causal, mask, scale);
  const at::Tensor of_query = make_gradient(query), of_key = make_gradient(key), of_value = make_gradient(value);
  const AttentionKernels& kernels = attention_kernels();
  heads.visit(/*slices=*/1, attention_backward_workspace(key.size(2), query.size(3)),
              [&](int64_t sample, int64_t head, int64_t, float* workspace) {
                kernels.propagate(
                    heads.at(sample, head), workspace,
                    {rows_of<const float>(of_output, sample, head), rows_of<const float>(output, sample, head),
                     rows_of<const float>(log_sum, sample, head), rows_of<float>(of_query, sample, head),
                     rows_of<float>(of_key, sample, head), rows_of<float>(of_value, sample, head)});
              });
  return {of_query, of_key, of_value};
}

}  // namespace tenon::operators
