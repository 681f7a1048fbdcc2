// Multi-head attention: A. Vaswani et al., Attention Is All You Need, arXiv:1706.03762, section 3.2.
#pragma once

#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <optional>

namespace seq2seq {

// Masks the keys of a query.
struct AttentionMask {
  torch::Tensor keys = {};  // [N, 1, 1, K] bool, true: visible; undefined: all are visible
  bool is_causal = false;   // query i sees only the keys 0 to i
};

// What queries read: [N, heads, K, width / heads] each.
struct KeyValues {
  torch::Tensor keys, values;
};

class AttentionImpl final : public torch::nn::Module {
 public:
  // REQUIRES: width is a multiple of heads.
  AttentionImpl(int64_t width, int64_t heads, double dropout) : heads_(heads), dropout_(dropout) {
    for (const auto& [name, projection] : {std::pair{"query", &query_}, std::pair{"key", &key_},
                                           std::pair{"value", &value_}, std::pair{"output", &output_}}) {
      *projection = register_module(name, torch::nn::Linear(width, width));
    }
  }

  // queries: [N, Q, width]; keys, which are also the values: [N, K, width]. Returns [N, Q, width].
  torch::Tensor forward(const torch::Tensor& queries, const torch::Tensor& keys, const AttentionMask& sight) {
    return attend(queries, project(keys), sight);
  }

  // The two parts of forward, for keys that several calls use.
  KeyValues project(const torch::Tensor& keys) { return {split(key_(keys)), split(value_(keys))}; }

  torch::Tensor attend(const torch::Tensor& queries, const KeyValues& given, const AttentionMask& sight) {
    const std::optional<torch::Tensor> mask =
        sight.keys.defined() ? std::optional<torch::Tensor>(sight.keys) : std::nullopt;
    const torch::Tensor seen = torch::scaled_dot_product_attention(
        split(query_(queries)), given.keys, given.values, mask, is_training() ? dropout_ : 0.0, sight.is_causal);
    return output_(seen.transpose(1, 2).flatten(2));
  }

 private:
  // [N, T, width] as [N, heads, T, width / heads].
  torch::Tensor split(const torch::Tensor& input) const {
    return input.unflatten(2, {heads_, input.size(2) / heads_}).transpose(1, 2);
  }

  int64_t heads_;
  double dropout_;
  torch::nn::Linear query_ = nullptr, key_ = nullptr, value_ = nullptr, output_ = nullptr;
};
TORCH_MODULE(Attention);

}  // namespace seq2seq
