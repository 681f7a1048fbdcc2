// A transformer encoder-decoder for token sequences: A. Vaswani et al., Attention Is All You Need, arXiv:1706.03762.
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <tenon/torch.hpp>

#include <cmath>

#include "plugins/models/params.h"
#include "plugins/models/seq2seq_transformer/layers.h"

namespace {

namespace nn = torch::nn;

// Positional encoding of section 3.5 for the positions from `first` to before `end`: [end - first, width], with the
// dtype and device of `like`.
torch::Tensor make_positions(int64_t first, int64_t end, int64_t width, const torch::Tensor& like) {
  const auto options = like.options().dtype(torch::kFloat32).requires_grad(false);
  const torch::Tensor rates = torch::exp(torch::arange(0, width, 2, options) * (-std::log(10000.0) / width));
  const torch::Tensor angles = torch::arange(first, end, options).unsqueeze(1) * rates;
  return torch::stack({angles.sin(), angles.cos()}, 2).flatten(1).slice(1, 0, width).to(like.dtype());
}

seq2seq::LayerOptions read_layer_options(const tenon::Params& params) {
  const seq2seq::LayerOptions options = {params.integer("width"), params.integer("heads"),
                                         params.integer("feed_forward"), params.number("dropout"),
                                         params.text("norm") == "pre" ? seq2seq::Norm::first : seq2seq::Norm::last};
  tenon::components::check_heads(options.width, options.heads);
  return options;
}

class Seq2SeqTransformer final : public nn::Module {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("vocabulary_size", 8000)
            .range("[2, 1e9]")
            .counts_vocabulary()
            .doc("size of the vocabulary; tokens of source and target must be smaller; if left out, that of the data's "
                 "tokenizer"),
        tenon::param("pad_id", 0).range("[0, 1e9]").doc("padding token of the source, which is masked"),
        tenon::param("width", 256).range("[1, 1e9]").doc("values per token, a multiple of heads"),
        tenon::param("heads", 4).range("[1, 1e9]").doc("number of attention heads"),
        tenon::param("encoder_layers", 3).range("[1, 32]").doc("encoder layers"),
        tenon::param("decoder_layers", 3).range("[1, 32]").doc("decoder layers"),
        tenon::param("feed_forward", 1024)
            .range("[1, 1e9]")
            .doc("values between the two linear layers of the feed-forward network"),
        tenon::param("dropout", 0.1).range("[0, 1)").doc("dropout probability of embeddings, attention and sublayers"),
        tenon::param("norm", "pre")
            .choices({"pre", "post"})
            .doc("pre: layer normalisation before each sublayer and after the last layer; post: after each sublayer, "
                 "as in the paper"),
        tenon::param("tied_embeddings", "all")
            .choices({"none", "target", "all"})
            .doc("embeddings that share their matrix with the output: none, that of the target, or those of source and "
                 "target as in the paper"),
        tenon::param("generate", 0)
            .range("[0, 4096]")
            .doc("number of tokens to generate per source outside of training, by greedy decoding, in the output "
                 "generated; 0: no such output"),
        tenon::param("bos_id", 2).range("[0, 1e9]").doc("token that starts generation"),
        tenon::param("eos_id", 3).range("[0, 1e9]").doc("token that ends generation")};
  }

  explicit Seq2SeqTransformer(const tenon::Params& params)
      : vocabulary_size_(params.integer("vocabulary_size")),
        pad_id_(params.integer("pad_id")),
        generate_(params.integer("generate")),
        bos_id_(params.integer("bos_id")),
        eos_id_(params.integer("eos_id")),
        options_(read_layer_options(params)),
        dropout_(options_.dropout) {
    register_module("dropout", dropout_);
    add_embeddings(params.text("tied_embeddings"));
    for (int64_t i = 0; i < params.integer("encoder_layers"); ++i) encoder_->push_back(seq2seq::EncoderLayer(options_));
    for (int64_t i = 0; i < params.integer("decoder_layers"); ++i) decoder_->push_back(seq2seq::DecoderLayer(options_));
    register_module("encoder", encoder_);
    register_module("decoder", decoder_);
    if (options_.norm == seq2seq::Norm::first) {
      encoder_norm_ = register_module("encoder_norm", nn::LayerNorm(nn::LayerNormOptions({options_.width})));
      decoder_norm_ = register_module("decoder_norm", nn::LayerNorm(nn::LayerNormOptions({options_.width})));
    }
    initialise();
  }

  std::vector<tenon::Port> ports() const {
    std::vector<tenon::Port> ports = {
        tenon::input("source", "N,S", TENON_DTYPE_BIT(TENON_INT64), "tokens to read, padded at the end with pad_id"),
        tenon::input("target_in", "N,T", TENON_DTYPE_BIT(TENON_INT64), "BOS and the tokens written so far"),
        tenon::output("logits", "N,T," + std::to_string(vocabulary_size_), TENON_ANY_FLOAT,
                      "for the token after each token of target_in")};
    if (generate_ > 0) {
      ports.push_back(tenon::output("generated", "N," + std::to_string(generate_), TENON_DTYPE_BIT(TENON_INT64),
                                    "tokens generated from source, up to EOS, then pad_id; only pad_id in training"));
    }
    return ports;
  }

  std::vector<tenon::IndexInput> index_inputs() const {
    return {tenon::index_below(vocabulary_size_, "source"), tenon::index_below(vocabulary_size_, "target_in")};
  }
  bool is_capturable() const { return true; }

  // The cache has the mask of the source, then for each layer keys and values of source and target.
  tenon::Decoding decoding() const { return {"target_in", "logits", 1 + 4 * decoder_->size()}; }

  std::vector<torch::Tensor> forward(torch::Tensor source, torch::Tensor target_in) {
    const seq2seq::AttentionMask sight = find_tokens(source);
    const torch::Tensor encoded = encode(source, sight);
    std::vector<torch::Tensor> outputs = {score(decode(target_in, encoded, sight))};
    if (generate_ > 0) {
      outputs.push_back(is_training() ? torch::full({source.size(0), generate_}, pad_id_, source.options())
                                      : generate(begin(encoded, sight), source));
    }
    return outputs;
  }

  tenon::TorchDecoded decode(const std::vector<torch::Tensor>& inputs, const std::vector<torch::Tensor>& cache) {
    Decoder decoder = cache.empty() ? begin(inputs[0]) : unpack(cache);
    const torch::Tensor scores = score(extend(inputs[1], decoder));
    return {scores, pack(decoder)};
  }

 private:
  // A shared embedding is registered once, under the name of its first use.
  void add_embeddings(const std::string& tied) {
    const bool is_shared = tied == "all";
    source_embedding_ =
        register_module(is_shared ? "embedding" : "source_embedding", nn::Embedding(vocabulary_size_, options_.width));
    target_embedding_ = is_shared
                            ? source_embedding_
                            : register_module("target_embedding", nn::Embedding(vocabulary_size_, options_.width));
    if (tied == "none") {
      output_ = register_module("output", nn::Linear(nn::LinearOptions(options_.width, vocabulary_size_).bias(false)));
    }
  }

  // Linear layers follow X. Glorot and Y. Bengio (2010). The initial embeddings are small. embed() multiplies them, and
  // the output may share them. Both inputs and logits then begin with a variance near 1.
  void initialise() {
    const torch::NoGradGuard no_gradient;
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* linear = module->as<nn::Linear>()) {
        nn::init::xavier_uniform_(linear->weight);
        if (linear->bias.defined()) nn::init::zeros_(linear->bias);
      } else if (auto* embedding = module->as<nn::Embedding>()) {
        nn::init::normal_(embedding->weight, 0, 1 / std::sqrt(static_cast<double>(options_.width)));
      }
    }
  }

  torch::Tensor encode(const torch::Tensor& source, const seq2seq::AttentionMask& sight) {
    torch::Tensor encoded = embed(source, source_embedding_);
    for (const auto& layer : *encoder_) {
      const auto pass = [layer, sight](const torch::Tensor& given) {
        return layer->as<seq2seq::EncoderLayer>()->forward(given, sight);
      };
      encoded = tenon::checkpoint(pass, encoded);
    }
    return encoder_norm_ ? encoder_norm_(encoded) : encoded;
  }

  torch::Tensor decode(const torch::Tensor& tokens, const torch::Tensor& encoded, const seq2seq::AttentionMask& sight) {
    torch::Tensor decoded = embed(tokens, target_embedding_);
    for (const auto& layer : *decoder_) {
      const auto pass = [layer, sight](const std::vector<torch::Tensor>& given) {
        return std::vector<torch::Tensor>{layer->as<seq2seq::DecoderLayer>()->forward(given[0], given[1], sight)};
      };
      decoded = tenon::checkpoint(pass, {decoded, encoded}, 1).front();
    }
    return decoder_norm_ ? decoder_norm_(decoded) : decoded;
  }

  torch::Tensor score(const torch::Tensor& decoded) {
    return torch::linear(decoded, output_ ? output_->weight : target_embedding_->weight);
  }

  // The state of decoding between two tokens.
  struct Decoder {
    seq2seq::AttentionMask sight;
    std::vector<seq2seq::DecoderCache> layers;
  };

  Decoder begin(const torch::Tensor& encoded, const seq2seq::AttentionMask& sight) {
    Decoder decoder = {sight, {}};
    for (const auto& layer : *decoder_) {
      decoder.layers.push_back(layer->as<seq2seq::DecoderLayer>()->begin(encoded));
    }
    return decoder;
  }

  Decoder begin(const torch::Tensor& source) {
    const seq2seq::AttentionMask sight = find_tokens(source);
    return begin(encode(source, sight), sight);
  }

  static std::vector<torch::Tensor> pack(const Decoder& decoder) {
    std::vector<torch::Tensor> cache = {decoder.sight.keys};
    for (const auto& [source, target] : decoder.layers) {
      cache.insert(cache.end(), {source.keys, source.values, target.keys, target.values});
    }
    return cache;
  }

  static Decoder unpack(const std::vector<torch::Tensor>& cache) {
    Decoder decoder = {{cache[0], false}, {}};
    for (size_t i = 1; i < cache.size(); i += 4) {
      decoder.layers.push_back({{cache[i], cache[i + 1]}, {cache[i + 2], cache[i + 3]}});
    }
    return decoder;
  }

  // Reads further tokens, [N, T]. Returns the decoded vectors of the last of them, [N, width].
  torch::Tensor extend(const torch::Tensor& tokens, Decoder& decoder) {
    const torch::Tensor& previous = decoder.layers.front().target.keys;
    torch::Tensor decoded = embed(tokens, target_embedding_, previous.defined() ? previous.size(2) : 0);
    size_t index = 0;
    for (const auto& layer : *decoder_) {
      decoded = layer->as<seq2seq::DecoderLayer>()->extend(decoded, decoder.layers[index++], decoder.sight);
    }
    const torch::Tensor last = decoded.select(1, -1);
    return decoder_norm_ ? decoder_norm_(last) : last;
  }

  // Greedy decoding: repeatedly appends the most likely next token.
  torch::Tensor generate(Decoder decoder, const torch::Tensor& source) {
    torch::Tensor written = torch::full({source.size(0), 1 + generate_}, pad_id_, source.options());
    written.select(1, 0).fill_(bos_id_);
    torch::Tensor has_ended = torch::zeros_like(written.select(1, 0), torch::kBool);
    for (int64_t length = 1; length <= generate_; ++length) {
      const torch::Tensor last = extend(written.slice(1, length - 1, length), decoder);
      const torch::Tensor likeliest = score(last).argmax(1).masked_fill(has_ended, pad_id_);
      written.select(1, length).copy_(likeliest);
      has_ended = has_ended.logical_or(likeliest.eq(eos_id_));
      // On other devices the check would synchronise with the device.
      if (has_ended.device().is_cpu() && has_ended.all().item<bool>()) break;
    }
    return written.slice(1, 1).contiguous();
  }

  // `first`: the position of the first token.
  torch::Tensor embed(const torch::Tensor& tokens, nn::Embedding& embedding, int64_t first = 0) {
    const torch::Tensor embedded = embedding(tokens) * std::sqrt(static_cast<double>(options_.width));
    return dropout_(embedded + make_positions(first, first + tokens.size(1), options_.width, embedded));
  }

  // A source of only padding is treated like tokens, because a softmax over nothing is NaN.
  seq2seq::AttentionMask find_tokens(const torch::Tensor& source) const {
    const torch::Tensor is_token = source.ne(pad_id_);
    return {is_token.logical_or(is_token.any(1, true).logical_not()).unsqueeze(1).unsqueeze(1), false};
  }

  int64_t vocabulary_size_;
  int64_t pad_id_;
  int64_t generate_, bos_id_, eos_id_;
  seq2seq::LayerOptions options_;
  nn::Dropout dropout_;
  nn::Embedding source_embedding_ = nullptr, target_embedding_ = nullptr;
  nn::ModuleList encoder_, decoder_;
  nn::LayerNorm encoder_norm_ = nullptr, decoder_norm_ = nullptr;
  nn::Linear output_ = nullptr;
};

}  // namespace

TENON_PLUGIN("seq2seq_transformer", "0.1.0", "Apache-2.0", "A sequence-to-sequence transformer.",
             tenon::torch_model<Seq2SeqTransformer>("seq2seq_transformer",
                                                    "transformer encoder-decoder for token sequences"))
