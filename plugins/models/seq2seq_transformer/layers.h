// The layers of encoder and decoder: A. Vaswani et al., Attention Is All You Need, arXiv:1706.03762, section 3. Layers
// with the normalisation first follow R. Xiong et al., arXiv:2002.04745, and train without a learning rate warm-up.
#pragma once

#include <optional>

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>

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

enum class Norm { first, last };  // position within a sublayer: pre-norm or post-norm

struct LayerOptions {
  int64_t width;
  int64_t heads;
  int64_t feed_forward;
  double dropout;
  Norm norm;
};

// The residual connection of a sublayer: x + f(norm(x)), or norm(x + f(x)).
class ResidualImpl final : public torch::nn::Module {
 public:
  explicit ResidualImpl(const LayerOptions& options)
      : order_(options.norm),
        norm_(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.width})))),
        dropout_(register_module("dropout", torch::nn::Dropout(options.dropout))) {}

  template <class Sublayer>
  torch::Tensor forward(const torch::Tensor& input, Sublayer&& sublayer) {
    if (order_ == Norm::first) return input + dropout_(sublayer(norm_(input)));
    return norm_(input + dropout_(sublayer(input)));
  }

 private:
  Norm order_;
  torch::nn::LayerNorm norm_;
  torch::nn::Dropout dropout_;
};
TORCH_MODULE(Residual);

inline torch::nn::Sequential make_feed_forward(const LayerOptions& options) {
  return torch::nn::Sequential(torch::nn::Linear(options.width, options.feed_forward), torch::nn::ReLU(),
                               torch::nn::Dropout(options.dropout),
                               torch::nn::Linear(options.feed_forward, options.width));
}

class EncoderLayerImpl final : public torch::nn::Module {
 public:
  explicit EncoderLayerImpl(const LayerOptions& options)
      : attention_(register_module("attention", Attention(options.width, options.heads, options.dropout))),
        feed_forward_(register_module("feed_forward", make_feed_forward(options))),
        around_attention_(register_module("around_attention", Residual(options))),
        around_feed_forward_(register_module("around_feed_forward", Residual(options))) {}

  // input: [N, S, width]; `source` masks the padding in S.
  torch::Tensor forward(const torch::Tensor& input, const AttentionMask& source) {
    const torch::Tensor attended =
        around_attention_->forward(input, [&](const torch::Tensor& x) { return attention_(x, x, source); });
    return around_feed_forward_->forward(attended, [&](const torch::Tensor& x) { return feed_forward_->forward(x); });
  }

 private:
  Attention attention_;
  torch::nn::Sequential feed_forward_;
  Residual around_attention_, around_feed_forward_;
};
TORCH_MODULE(EncoderLayer);

// What a decoder layer keeps of the source, and of the target's tokens so far.
struct DecoderCache {
  KeyValues source, target;  // `target` is undefined before the first token
};

class DecoderLayerImpl final : public torch::nn::Module {
 public:
  explicit DecoderLayerImpl(const LayerOptions& options)
      : self_attention_(register_module("self_attention", Attention(options.width, options.heads, options.dropout))),
        source_attention_(
            register_module("source_attention", Attention(options.width, options.heads, options.dropout))),
        feed_forward_(register_module("feed_forward", make_feed_forward(options))),
        around_self_attention_(register_module("around_self_attention", Residual(options))),
        around_source_attention_(register_module("around_source_attention", Residual(options))),
        around_feed_forward_(register_module("around_feed_forward", Residual(options))) {}

  // input: [N, T, width]; encoded: [N, S, width]; `source` masks the padding of `encoded`.
  torch::Tensor forward(const torch::Tensor& input, const torch::Tensor& encoded, const AttentionMask& source) {
    return run(
        input, [&](const torch::Tensor& x) { return self_attention_(x, x, kBefore); },
        [&](const torch::Tensor& x) { return source_attention_(x, encoded, source); });
  }

  DecoderCache begin(const torch::Tensor& encoded) { return {source_attention_->project(encoded), {}}; }

  // forward with the cache of begin(): input: [N, T, width], the first tokens, then one token in each call.
  torch::Tensor extend(const torch::Tensor& input, DecoderCache& cache, const AttentionMask& source) {
    const auto attend_target = [&](const torch::Tensor& x) {
      const KeyValues added = self_attention_->project(x);
      KeyValues& target = cache.target;
      if (!target.keys.defined()) {
        target = added;
        return self_attention_->attend(x, target, kBefore);
      }
      target = {torch::cat({target.keys, added.keys}, 2), torch::cat({target.values, added.values}, 2)};
      return self_attention_->attend(x, target, {});
    };
    return run(input, attend_target,
               [&](const torch::Tensor& x) { return source_attention_->attend(x, cache.source, source); });
  }

 private:
  // Padding of the target needs no mask: it follows the tokens, and causal queries do not see later keys.
  static inline const AttentionMask kBefore = {{}, true};

  template <class AttendTarget, class AttendSource>
  torch::Tensor run(const torch::Tensor& input, AttendTarget&& attend_target, AttendSource&& attend_source) {
    const torch::Tensor attended = around_self_attention_->forward(input, attend_target);
    const torch::Tensor informed = around_source_attention_->forward(attended, attend_source);
    return around_feed_forward_->forward(informed, [&](const torch::Tensor& x) { return feed_forward_->forward(x); });
  }

  Attention self_attention_, source_attention_;
  torch::nn::Sequential feed_forward_;
  Residual around_self_attention_, around_source_attention_, around_feed_forward_;
};
TORCH_MODULE(DecoderLayer);

}  // namespace seq2seq
