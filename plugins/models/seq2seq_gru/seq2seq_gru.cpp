// A recurrent encoder-decoder with attention over the source. The attention is the global attention "general" of M.-T.
// Luong, H. Pham and C. D. Manning, arXiv:1508.04025. The encoder is that of D. Bahdanau, K. Cho and Y. Bengio,
// arXiv:1409.0473, which reads in both directions.
#include <tenon/plugin.hpp>

#include <algorithm>
#include <limits>
#include <tuple>

#include "plugins/models/seq2seq_gru/gru.h"

namespace {

using seq2seq::GruLayer;
using seq2seq::TokenPositions;
using tenon::Builder;
using tenon::Frame;
using tenon::Tensor;

// Embeds tokens as vectors of `width` values. The table's initial values are small, and reading multiplies them. Both
// the embeddings and the logits of a tied output then begin with a variance near 1.
class TokenTable {
 public:
  TokenTable(const Builder& builder, const std::string& name, int64_t entries, int64_t width)
      : scale_(std::sqrt(static_cast<double>(width))),
        weight_(builder.parameter(name + ".weight", {entries, width}, tenon::init::normal(0, 1 / scale_))) {}

  Tensor read(const Frame& frame, const Tensor& tokens) const {
    return embedding(frame.tensor(weight_), tokens) * scale_;
  }
  Tensor score(const Frame& frame, const Tensor& vectors) const { return linear(vectors, frame.tensor(weight_)); }

 private:
  double scale_;
  uint64_t weight_;
};

// The encoder's result for the decoder.
struct Memory {
  Tensor values;    // [N, S, width]
  Tensor keys;      // [N, S, width], keys of the values for the decoder's queries
  Tensor is_token;  // [N, 1, S] bool
};

class Seq2SeqGru final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("vocabulary_size", 8000)
                .range("[2, 1e9]")
                .counts_vocabulary()
                .doc("size of the vocabulary; tokens of source and target must be smaller; if left out, that of the "
                     "data's tokenizer"),
            tenon::param("pad_id", 0).range("[0, 1e9]").doc("padding token of the source, which is masked"),
            tenon::param("width", 256).range("[2, 1e9]").doc("values per token and state, an even number"),
            tenon::param("encoder_layers", 1)
                .range("[1, 8]")
                .doc("encoder layers, which read the source in both directions"),
            tenon::param("decoder_layers", 1).range("[1, 8]").doc("decoder layers"),
            tenon::param("dropout", 0.1)
                .range("[0, 1)")
                .doc("dropout probability of embeddings, between layers and before the output"),
            tenon::param("tied_embeddings", "all")
                .choices({"none", "target", "all"})
                .doc("embeddings that share their matrix with the output: none, that of the target, or those of source "
                     "and target"),
            tenon::param("generate", 0)
                .range("[0, 4096]")
                .doc("number of tokens to generate per source outside of training, by greedy decoding, in the output "
                     "generated; 0: no such output"),
            tenon::param("bos_id", 2).range("[0, 1e9]").doc("token that starts generation"),
            tenon::param("eos_id", 3).range("[0, 1e9]").doc("token that ends generation")};
  }

  explicit Seq2SeqGru(const tenon::Params& params)
      : vocabulary_size_(params.integer("vocabulary_size")),
        pad_id_(params.integer("pad_id")),
        width_(params.integer("width")),
        encoder_layers_(params.integer("encoder_layers")),
        decoder_layers_(params.integer("decoder_layers")),
        dropout_(params.number("dropout")),
        tied_(params.text("tied_embeddings")),
        generate_(params.integer("generate")),
        bos_id_(params.integer("bos_id")),
        eos_id_(params.integer("eos_id")) {
    if (width_ % 2 == 0) return;
    throw tenon::Error(
        TENON_INVALID_ARGUMENT,
        "width = " + std::to_string(width_) + "; expected an even number, because each direction has half the width");
  }

  std::vector<tenon::Port> ports() const {
    constexpr uint64_t int64 = TENON_DTYPE_BIT(TENON_INT64);
    std::vector<tenon::Port> ports = {
        tenon::input("source", "N,S", int64, "tokens to read, padded at the end with pad_id"),
        tenon::input("target_in", "N,T", int64, "BOS and the tokens written so far"),
        tenon::output("logits", "N,T," + std::to_string(vocabulary_size_), TENON_ANY_FLOAT,
                      "for the token after each token of target_in")};
    if (generate_ > 0) {
      ports.push_back(tenon::output("generated", "N," + std::to_string(generate_), int64,
                                    "tokens generated from source, up to EOS, then pad_id; only pad_id in training"));
    }
    return ports;
  }

  std::vector<tenon::IndexInput> index_inputs() const {
    return {tenon::index_below(vocabulary_size_, "source"), tenon::index_below(vocabulary_size_, "target_in")};
  }

  void build(const Builder& builder) {
    source_.emplace(builder, tied_ == "all" ? "embedding" : "source_embedding", vocabulary_size_, width_);
    if (tied_ != "all") target_.emplace(builder, "target_embedding", vocabulary_size_, width_);
    encoder_.emplace(builder, "encoder", encoder_layers_, width_, dropout_);
    bridge_ = tenon::Linear(builder, "bridge", width_, decoder_layers_ * width_);
    for (int64_t i = 0; i < decoder_layers_; ++i) {
      decoder_.emplace_back(builder, "decoder", "l" + std::to_string(i), width_, width_);
    }
    keys_ = tenon::Linear(builder, "attention", width_, width_, /*has_bias=*/false);
    joined_ = tenon::Linear(builder, "joined", 2 * width_, width_, /*has_bias=*/false);
    if (tied_ == "none") output_.emplace(builder, "output", vocabulary_size_, width_);
  }

  std::vector<Tensor> forward(const Frame& frame, const tenon::Inputs& inputs) const {
    const Tensor source = inputs["source"];
    const Tensor target_in = inputs["target_in"];
    const auto [memory, first_states] = encode(frame, source);
    std::vector<Tensor> states = first_states;
    std::vector<Tensor> outputs = {read(frame, target_in, memory, states)};
    if (generate_ > 0) {
      outputs.push_back(frame.is_training() ? fill(source, pad_id_, generate_)
                                            : generate(frame, source, memory, first_states));
    }
    return outputs;
  }

  // The cache has the three tensors of the memory and the state of each layer.
  tenon::Decoding decoding() const { return {"target_in", "logits", static_cast<uint64_t>(3 + decoder_layers_)}; }

  tenon::Decoded decode(const Frame& frame, const tenon::Inputs& inputs, const std::vector<Tensor>& cache) const {
    Memory memory;
    std::vector<Tensor> states;
    if (cache.empty()) {
      std::tie(memory, states) = encode(frame, inputs["source"]);
    } else {
      memory = {cache[0], cache[1], cache[2]};
      for (size_t i = 3; i < cache.size(); ++i) states.push_back(unsqueeze(cache[i], 0));
    }
    const Tensor logits = read(frame, inputs["target_in"], memory, states);
    tenon::Decoded decoded = {select(logits, 1, -1), {memory.values, memory.keys, memory.is_token}};
    for (const Tensor& state : states) decoded.cache.push_back(squeeze(state, 0));
    return decoded;
  }

 private:
  const TokenTable& target_table() const { return target_ ? *target_ : *source_; }
  const TokenTable& output_table() const { return output_ ? *output_ : target_table(); }

  // Returns the memory, and an initial state for each decoder layer.
  std::pair<Memory, std::vector<Tensor>> encode(const Frame& frame, const Tensor& source) const {
    const TokenPositions places(source, pad_id_);
    const auto [values, last] = (*encoder_)(frame, dropout(source_->read(frame, source), dropout_), places);
    std::vector<Tensor> states;
    const Tensor bridged = tanh(bridge_(last));
    for (int64_t i = 0; i < decoder_layers_; ++i) {
      states.push_back(unsqueeze(slice(bridged, 1, i * width_, (i + 1) * width_), 0));
    }
    return {{values, keys_(values), unsqueeze(places.is_token(), 1)}, states};
  }

  // Returns the logits of the tokens after `tokens`, [N, T]. `states` holds the states before the tokens, and receives
  // the states after them.
  Tensor read(const Frame& frame, const Tensor& tokens, const Memory& memory, std::vector<Tensor>& states) const {
    Tensor x = dropout(target_table().read(frame, tokens), dropout_);
    for (size_t i = 0; i < decoder_.size(); ++i) {
      if (i > 0) x = dropout(x, dropout_);
      const GruLayer::Result result = decoder_[i](frame, x, states[i]);
      x = result.outputs;
      states[i] = result.state;
    }
    return output_table().score(frame, dropout(look_back(x, memory), dropout_));
  }

  // Luong et al., equations 5, 7 and 8. queries: [N, T, width].
  Tensor look_back(const Tensor& queries, const Memory& memory) const {
    const Tensor scores = masked_fill(matmul(queries, transpose(memory.keys, 1, 2)), logical_not(memory.is_token),
                                      -std::numeric_limits<double>::infinity());
    const Tensor context = matmul(softmax(scores, 2), memory.values);
    return tanh(joined_(tenon::cat({context, queries}, 2)));
  }

  // Returns [N, count] int64, filled with one token.
  static Tensor fill(const Tensor& source, int64_t token, int64_t count) {
    const Tensor column = sum(zeros_like(source), {1}, /*keep_dims=*/true) + token;
    return contiguous(expand(column, {-1, count}));
  }

  // Greedy decoding: repeatedly appends the most likely next token.
  Tensor generate(const Frame& frame, const Tensor& source, const Memory& memory, std::vector<Tensor> states) const {
    const Tensor padding = fill(source, pad_id_, 1);
    Tensor token = fill(source, bos_id_, 1);
    Tensor has_ended = ne(padding, pad_id_);
    std::vector<Tensor> written;
    while (static_cast<int64_t>(written.size()) < generate_) {
      token = where(has_ended, padding, argmax(read(frame, token, memory, states), 2));
      has_ended = logical_or(has_ended, eq(token, eos_id_));
      written.push_back(token);
      if (have_all_ended(has_ended)) break;
    }
    if (const int64_t rest = generate_ - static_cast<int64_t>(written.size()); rest > 0) {
      written.push_back(fill(source, pad_id_, rest));
    }
    return tenon::cat(written, 1);
  }

  // Reads the tensor only in CPU memory, where this does not synchronise with a device. On other devices all positions
  // are generated.
  static bool have_all_ended(const Tensor& has_ended) {
    void* elements = nullptr;
    if (tenon::detail::host->tensor_data(has_ended.handle(), &elements) != TENON_OK) return false;
    const auto* const first = static_cast<const bool*>(elements);
    return std::all_of(first, first + has_ended.numel(), [](bool ended) { return ended; });
  }

  int64_t vocabulary_size_, pad_id_, width_, encoder_layers_, decoder_layers_;
  double dropout_;
  std::string tied_;
  int64_t generate_, bos_id_, eos_id_;
  std::optional<TokenTable> source_, target_, output_;
  std::optional<seq2seq::BidirectionalGru> encoder_;
  tenon::Linear bridge_, keys_, joined_;
  std::vector<GruLayer> decoder_;
};

}  // namespace

TENON_PLUGIN("seq2seq_gru", "0.1.0", "Apache-2.0", "A recurrent sequence-to-sequence network.",
             tenon::model<Seq2SeqGru>(
                 "seq2seq_gru",
                 "recurrent encoder-decoder for token sequences, with a bidirectional encoder and attention"),
             tenon::operators({"aten::gru.input", "aten::new_zeros"}))
