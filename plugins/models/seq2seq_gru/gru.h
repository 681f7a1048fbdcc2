// Gated recurrent units (K. Cho et al., arXiv:1406.1078), computed and named like torch.nn.GRU, over sequences that are
// padded at the end.
#pragma once

#include <tenon/plugin.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace seq2seq {

using tenon::Frame;
using tenon::Tensor;

// A layer in one direction.
class GruLayer {
 public:
  // `place` is the suffix that torch.nn.GRU appends to the names of its weights: "l0", "l0_reverse".
  GruLayer(const tenon::Builder& builder, const std::string& name, const std::string& place, int64_t inputs,
           int64_t width)
      : width_(width) {
    const double bound = 1 / std::sqrt(static_cast<double>(width));
    const auto declare = [&](const char* kind, const std::vector<int64_t>& shape) {
      weights_.push_back(
          builder.parameter(name + '.' + kind + '_' + place, shape, tenon::init::uniform(-bound, bound)));
    };
    declare("weight_ih", {3 * width, inputs});
    declare("weight_hh", {3 * width, width});
    declare("bias_ih", {3 * width});
    declare("bias_hh", {3 * width});
  }

  struct Result {
    Tensor outputs;  // [N, T, width]
    Tensor state;    // [1, N, width], after the last position
  };

  // input: [N, T, inputs]; state: [1, N, width], or empty for zeros.
  Result operator()(const Frame& frame, const Tensor& input, const Tensor& state = {}) const {
    static const tenon::Op gru("aten::gru", "input");
    static const tenon::Op new_zeros("aten::new_zeros");
    std::vector<Tensor> weights;
    for (const uint64_t weight : weights_) weights.push_back(frame.tensor(weight));
    // Converts the input to the dtype of the weights, also under autocast.
    const Tensor given = to_dtype(input, weights[0].dtype());
    const Tensor first = state ? to_dtype(state, weights[0].dtype())
                               : frame.call(new_zeros, {given, std::vector<int64_t>{1, input.shape()[0], width_}});
    const std::vector<Tensor> results = frame.call_for(
        gru, 2,
        {given, first, weights, /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0.0, frame.is_training(),
         /*bidirectional=*/false, /*batch_first=*/true});
    return {results[0], results[1]};
  }

 private:
  int64_t width_;
  std::vector<uint64_t> weights_;
};

// The positions of the tokens in padded sequences, forwards and reversed.
class TokenPositions {
 public:
  // tokens: [N, S] int64. A sequence of only padding counts as one token.
  TokenPositions(const Tensor& tokens, int64_t pad_id)
      : lengths_(clamp_min(sum(ne(tokens, pad_id), {1}, /*keep_dims=*/true), 1)), places_(count_places(tokens)) {
    reversed_ = where(is_token(), lengths_ - places_ - 1, places_);
  }

  Tensor is_token() const { return lt(places_, lengths_); }  // [N, S] bool

  // Reverses the tokens of each sequence and keeps the padding at the end. values: [N, S, width].
  Tensor reverse(const Tensor& values) const { return gather(values, 1, widen(reversed_, values)); }

  // Returns the values of the last token of each sequence: [N, width].
  Tensor last(const Tensor& values) const { return squeeze(gather(values, 1, widen(lengths_ - 1, values)), 1); }

 private:
  static Tensor count_places(const Tensor& tokens) { return cumsum(ones_like(tokens), 1) - 1; }

  static Tensor widen(const Tensor& index, const Tensor& values) {
    return expand(unsqueeze(index, 2), {-1, -1, values.shape()[2]});
  }

  Tensor lengths_;  // [N, 1]
  Tensor places_;   // [N, S]
  Tensor reversed_;
};

// Layers in both directions. Each layer reads the outputs of both directions of the previous layer. This equals
// torch.nn.GRU with bidirectional = true over packed sequences.
class BidirectionalGru {
 public:
  // `width` is the width of both directions together.
  BidirectionalGru(const tenon::Builder& builder, const std::string& name, int64_t layers, int64_t width,
                   double dropout)
      : dropout_(dropout) {
    for (int64_t i = 0; i < layers; ++i) {
      const std::string place = "l" + std::to_string(i);
      layers_.emplace_back(GruLayer(builder, name, place, width, width / 2),
                           GruLayer(builder, name, place + "_reverse", width, width / 2));
    }
  }

  struct Result {
    Tensor outputs;  // [N, S, width]
    Tensor last;     // [N, width]: the last output of each direction
  };

  Result operator()(const Frame& frame, const Tensor& input, const TokenPositions& places) const {
    Result result = {input, {}};
    for (const auto& [forwards, backwards] : layers_) {
      if (result.last) result.outputs = dropout(result.outputs, dropout_);
      const Tensor ahead = forwards(frame, result.outputs).outputs;
      // Padding is at the end in both directions, so no token reads it.
      const Tensor backward_outputs = backwards(frame, places.reverse(result.outputs)).outputs;
      result.outputs = tenon::cat({ahead, places.reverse(backward_outputs)}, 2);
      result.last = tenon::cat({places.last(ahead), places.last(backward_outputs)}, 1);
    }
    return result;
  }

 private:
  double dropout_;
  std::vector<std::pair<GruLayer, GruLayer>> layers_;
};

}  // namespace seq2seq
