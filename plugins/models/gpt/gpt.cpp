// A transformer that continues a text: GPT-2 of A. Radford et al., "Language Models are Unsupervised Multitask
// Learners", 2019. Names are those of nanoGPT, and weights have the shape [outputs, inputs], so that nanoGPT's weights
// load.
#include <tenon/checkpointing.hpp>
#include <tenon/plugin.hpp>

#include <cmath>

#include "plugins/models/layers.h"
#include "plugins/models/params.h"

namespace {

using tenon::Builder;
using tenon::Frame;
using tenon::Tensor;

struct Sizes {
  int64_t vocabulary, context, layers, heads, width;
  double dropout;
  bool has_bias;
};

Sizes read_sizes(const tenon::Params& params) {
  const Sizes sizes = {
      params.integer("vocabulary_size"), params.integer("context"), params.integer("layers"), params.integer("heads"),
      params.integer("width"),           params.number("dropout"),  params.boolean("bias")};
  tenon::components::check_heads(sizes.width, sizes.heads);
  return sizes;
}

constexpr double kDeviation = 0.02;  // standard deviation of initial weights
constexpr double kEps = 1e-5;        // epsilon of layer normalisation

// A linear layer with normally distributed initial weights and zero biases.
tenon::Linear make_linear(const Builder& builder, const std::string& name, int64_t inputs, int64_t outputs,
                          bool has_bias, double deviation = kDeviation) {
  return {builder, name, inputs, outputs, {has_bias, tenon::init::normal(0, deviation), tenon::init::constant(0)}};
}

// The keys and values of the tokens so far, [N, heads, T, width / heads]; empty before the first token.
struct KeyValues {
  Tensor keys, values;
};

// Causal attention, then two linear layers. Both are residual branches that begin with a normalisation.
class Block {
 public:
  Block(const Builder& builder, const std::string& name, const Sizes& sizes)
      : sizes_(sizes),
        first_norm_(builder, name + ".ln_1", {sizes.width}, kEps, sizes.has_bias),
        joint_(make_linear(builder, name + ".attn.c_attn", sizes.width, 3 * sizes.width, sizes.has_bias)),
        attended_(make_linear(builder, name + ".attn.c_proj", sizes.width, sizes.width, sizes.has_bias,
                              residual_deviation())),
        second_norm_(builder, name + ".ln_2", {sizes.width}, kEps, sizes.has_bias),
        widen_(make_linear(builder, name + ".mlp.c_fc", sizes.width, 4 * sizes.width, sizes.has_bias)),
        narrow_(make_linear(builder, name + ".mlp.c_proj", 4 * sizes.width, sizes.width, sizes.has_bias,
                            residual_deviation())) {}

  // x: [N, T, width]. With keys and values of previous tokens T is 1. `previous` receives those of x, unless it is
  // null.
  Tensor operator()(const Frame& frame, const Tensor& x, KeyValues* previous = nullptr) const {
    const Tensor informed = x + attend(frame, first_norm_(x), previous);
    const Tensor hidden = gelu(widen_(second_norm_(informed)));
    return informed + dropout(narrow_(hidden), sizes_.dropout);
  }

 private:
  // Each layer has two residual branches. This deviation keeps the variance of their sum near 1.
  double residual_deviation() const { return kDeviation / std::sqrt(2.0 * static_cast<double>(sizes_.layers)); }

  Tensor attend(const Frame& frame, const Tensor& x, KeyValues* previous) const {
    const std::vector<Tensor> parts = chunk(joint_(x), 3, 2);  // query, key, value
    KeyValues all = {split(frame, parts[1]), split(frame, parts[2])};
    const bool is_later = previous && previous->keys;
    if (is_later) all = {tenon::cat({previous->keys, all.keys}, 2), tenon::cat({previous->values, all.values}, 2)};
    if (previous) *previous = all;
    // A single later token sees all tokens.
    const Tensor seen =
        attention(split(frame, parts[0]), all.keys, all.values, {}, frame.is_training() ? sizes_.dropout : 0,
                  /*is_causal=*/!is_later);
    return dropout(attended_(flatten(transpose(seen, 1, 2), 2)), sizes_.dropout);
  }

  // [N, T, width] as [N, heads, T, width / heads]. N and T are not read, because a trace would keep them.
  Tensor split(const Frame& frame, const Tensor& x) const {
    static const tenon::Op unflatten("aten::unflatten", "int");
    const std::vector<int64_t> heads = {sizes_.heads, sizes_.width / sizes_.heads};
    return transpose(frame.call(unflatten, {x, 2, heads}), 1, 2);
  }

  Sizes sizes_;
  tenon::LayerNorm first_norm_;
  tenon::Linear joint_, attended_;
  tenon::LayerNorm second_norm_;
  tenon::Linear widen_, narrow_;
};

class Gpt final {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("vocabulary_size", 256)
            .range("[2, 1e9]")
            .counts_vocabulary()
            .doc("size of the vocabulary; tokens must be smaller; if left out, that of the data's tokenizer"),
        tenon::param("context", 128).range("[1, 1e9]").doc("number of positions, which is the maximum input length"),
        tenon::param("layers", 4).range("[1, 256]").doc("number of layers, each with attention and feed-forward"),
        tenon::param("heads", 4).range("[1, 1e9]").doc("number of attention heads"),
        tenon::param("width", 128).range("[1, 1e9]").doc("values per token, a multiple of heads"),
        tenon::param("dropout", 0.0)
            .range("[0, 1)")
            .doc("dropout probability of embeddings, attention and residual branches"),
        tenon::param("bias", true).doc("whether linear layers and normalisations have biases, as in GPT-2")};
  }

  explicit Gpt(const tenon::Params& params) : sizes_(read_sizes(params)) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("tokens", "N,T", TENON_DTYPE_BIT(TENON_INT64), "at most context tokens"),
            tenon::output("logits", "N,T," + std::to_string(sizes_.vocabulary), TENON_ANY_FLOAT,
                          "for the token after each token of tokens")};
  }

  std::vector<tenon::IndexInput> index_inputs() const { return {tenon::index_below(sizes_.vocabulary, "tokens")}; }
  bool is_capturable() const { return true; }
  // nanoGPT's state_dict has the matrix that embeds tokens also as the output layer.
  static std::vector<std::pair<std::string, std::string>> tied_weights() {
    return {{"lm_head.weight", "transformer.wte.weight"}};
  }

  // The cache has the keys and values of each layer.
  tenon::Decoding decoding() const {
    return {"tokens", "logits", static_cast<uint64_t>(2 * sizes_.layers), sizes_.context};
  }

  void build(const Builder& builder) {
    const auto table = [&](const std::string& name, int64_t rows) {
      return builder.parameter("transformer." + name + ".weight", {rows, sizes_.width},
                               tenon::init::normal(0, kDeviation));
    };
    tokens_ = table("wte", sizes_.vocabulary);
    places_ = table("wpe", sizes_.context);
    for (int64_t i = 0; i < sizes_.layers; ++i) {
      blocks_.emplace_back(builder, "transformer.h." + std::to_string(i), sizes_);
    }
    last_norm_ = tenon::LayerNorm(builder, "transformer.ln_f", {sizes_.width}, kEps, sizes_.has_bias);
  }

  Tensor forward(const Frame& frame, const tenon::Inputs& inputs) const {
    Tensor x = embed(frame, inputs["tokens"], 0);
    for (const Block& block : blocks_) {
      x = tenon::checkpoint(
          frame, [&block](const Frame& within, const Tensor& given) { return block(within, given); }, x);
    }
    return score(frame, x);
  }

  tenon::Decoded decode(const Frame& frame, const tenon::Inputs& inputs, const std::vector<Tensor>& cache) const {
    Tensor x = embed(frame, inputs["tokens"], cache.empty() ? 0 : cache.front().shape()[2]);
    std::vector<Tensor> next;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      KeyValues previous;
      if (!cache.empty()) previous = {cache[2 * i], cache[2 * i + 1]};
      x = blocks_[i](frame, x, &previous);
      next.push_back(previous.keys);
      next.push_back(previous.values);
    }
    return {score(frame, select(x, 1, -1)), next};
  }

 private:
  // `first`: the position of the first token.
  Tensor embed(const Frame& frame, const Tensor& tokens, int64_t first) const {
    const int64_t length = first + tokens.shape()[1];
    if (length > sizes_.context) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "tokens has " + std::to_string(length) +
                                                     " positions; expected at most " + std::to_string(sizes_.context) +
                                                     ", the parameter context; raise context, or use shorter texts");
    }
    // An export is a trace of the evaluation. A slice would keep the length of its texts.
    const bool is_traceable = first == 0 && !frame.is_training();
    const Tensor places = is_traceable
                              ? embedding(frame.tensor(places_), cumsum(ones_like(select(tokens, 0, 0)), 0) - 1)
                              : slice(frame.tensor(places_), 0, first, length);
    return dropout(embedding(frame.tensor(tokens_), tokens) + places, sizes_.dropout);
  }

  Tensor score(const Frame& frame, const Tensor& x) const { return linear(last_norm_(x), frame.tensor(tokens_)); }

  Sizes sizes_;
  uint64_t tokens_ = 0;
  uint64_t places_ = 0;
  std::vector<Block> blocks_;
  tenon::LayerNorm last_norm_;
};

}  // namespace

TENON_PLUGIN("gpt", "0.1.0", "Apache-2.0", "A transformer that continues a text.",
             tenon::model<Gpt>("gpt", "GPT-2's transformer for next-token prediction; loads nanoGPT's weights"),
             tenon::operators({"aten::unflatten.int"}))
