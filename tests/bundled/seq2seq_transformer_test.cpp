// Compares the transformer with LibTorch's layers, and tests its masks.
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/transformer.h>
#include <torch/nn/modules/transformerlayer.h>

#include <cmath>
#include <map>

#include "framework/components/kinds/model.h"
#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/rounding.h"
#include "tests/doctest_with_torch.h"

namespace seq2seq_transformer_test {

using namespace tenon::bundled;
using tenon::components::Model;
using tenon::config::Values;
namespace nn = torch::nn;

namespace {

constexpr int64_t kVocabulary = 11;
constexpr int64_t kWidth = 8;
constexpr int64_t kHeads = 2;
constexpr int64_t kFeedForward = 12;
// A path has four layers of 15 operations, with sums of kFeedForward terms.
constexpr double kTolerance = worst_rounding(kSingleRoundoff, 4 * 15, kFeedForward);

// Creates a model with weights, biases and norms that all affect the output.
Model make_model(const Values& changes = {}) {
  const Values params = {{"vocabulary_size", kVocabulary},
                         {"width", kWidth},
                         {"heads", kHeads},
                         {"feed_forward", kFeedForward},
                         {"encoder_layers", int64_t{2}},
                         {"decoder_layers", int64_t{2}}};
  Model model = build_model("seq2seq_transformer", merged(params, changes));
  const torch::NoGradGuard no_gradient;
  torch::manual_seed(3);
  for (const auto& named : model.tensors()) named.tensor.normal_(0, 0.4);
  return model;
}

at::Tensor tokens(const std::vector<std::vector<int64_t>>& rows) {
  at::Tensor all =
      torch::empty({static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())}, torch::kInt64);
  for (size_t i = 0; i < rows.size(); ++i) all[static_cast<int64_t>(i)] = torch::tensor(rows[i], torch::kInt64);
  return all;
}

at::Tensor evaluate(const Model& model, const at::Tensor& source, const at::Tensor& target_in) {
  const torch::NoGradGuard no_gradient;
  return model.forward({}, {source, target_in})[0];
}

// ---- The same network with LibTorch's layers, which expect [T, N, width]

class Reference {
 public:
  explicit Reference(const Model& model) {
    for (const auto& named : model.tensors()) weights_[named.name] = named.tensor;
  }

  at::Tensor forward(const at::Tensor& source, const at::Tensor& target_in, int64_t layers) {
    const torch::NoGradGuard no_gradient;
    const at::Tensor is_padding = source.eq(0);
    at::Tensor encoded = embed("source_embedding", source);
    for (int64_t i = 0; i < layers; ++i) encoded = encode("encoder." + std::to_string(i), encoded, is_padding);
    at::Tensor decoded = embed("target_embedding", target_in);
    for (int64_t i = 0; i < layers; ++i) decoded = decode("decoder." + std::to_string(i), decoded, encoded, is_padding);
    return torch::linear(decoded.transpose(0, 1), weights_.at("output.weight"));
  }

 private:
  // Implements section 3.5 of the paper literally.
  at::Tensor embed(const std::string& name, const at::Tensor& ids) {
    at::Tensor all = torch::embedding(weights_.at(name + ".weight"), ids) * std::sqrt(double{kWidth});
    for (int64_t place = 0; place < ids.size(1); ++place) {
      for (int64_t i = 0; i < kWidth; ++i) {
        const double angle = static_cast<double>(place) / std::pow(10000.0, static_cast<double>(i / 2 * 2) / kWidth);
        all.select(1, place).select(1, i).add_(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
    return all.transpose(0, 1);
  }

  at::Tensor encode(const std::string& name, const at::Tensor& input, const at::Tensor& is_padding) {
    nn::TransformerEncoderLayer layer(
        nn::TransformerEncoderLayerOptions(kWidth, kHeads).dim_feedforward(kFeedForward).dropout(0));
    layer->eval();
    copy_attention(name + ".attention", layer->self_attn);
    copy(name + ".feed_forward.0", layer->linear1);
    copy(name + ".feed_forward.3", layer->linear2);
    copy(name + ".around_attention.norm", layer->norm1);
    copy(name + ".around_feed_forward.norm", layer->norm2);
    return layer->forward(input, {}, is_padding);
  }

  at::Tensor decode(const std::string& name, const at::Tensor& input, const at::Tensor& encoded,
                    const at::Tensor& is_padding) {
    nn::TransformerDecoderLayer layer(
        nn::TransformerDecoderLayerOptions(kWidth, kHeads).dim_feedforward(kFeedForward).dropout(0));
    layer->eval();
    copy_attention(name + ".self_attention", layer->self_attn);
    copy_attention(name + ".source_attention", layer->multihead_attn);
    copy(name + ".feed_forward.0", layer->linear1);
    copy(name + ".feed_forward.3", layer->linear2);
    copy(name + ".around_self_attention.norm", layer->norm1);
    copy(name + ".around_source_attention.norm", layer->norm2);
    copy(name + ".around_feed_forward.norm", layer->norm3);
    const at::Tensor later = nn::TransformerImpl::generate_square_subsequent_mask(input.size(0));
    return layer->forward(input, encoded, later, {}, {}, is_padding);
  }

  template <class Layer>
  void copy(const std::string& name, Layer& layer) {
    layer->weight.copy_(weights_.at(name + ".weight"));
    layer->bias.copy_(weights_.at(name + ".bias"));
  }

  void copy_attention(const std::string& name, nn::MultiheadAttention& attention) {
    const auto join = [&](const std::string& what) {
      return torch::cat({weights_.at(name + ".query" + what), weights_.at(name + ".key" + what),
                         weights_.at(name + ".value" + what)});
    };
    attention->in_proj_weight.copy_(join(".weight"));
    attention->in_proj_bias.copy_(join(".bias"));
    attention->out_proj->weight.copy_(weights_.at(name + ".output.weight"));
    attention->out_proj->bias.copy_(weights_.at(name + ".output.bias"));
  }

  std::map<std::string, at::Tensor> weights_;
};

const at::Tensor kSource = tokens({{3, 4, 5, 6, 2}, {7, 8, 2, 0, 0}});
const at::Tensor kTargetIn = tokens({{1, 9, 8, 7}, {1, 5, 0, 0}});

}  // namespace

TEST_CASE("a post-norm transformer has the outputs of LibTorch's layers") {
  const Model model = make_model({{"norm", std::string("post")}, {"tied_embeddings", std::string("none")}});
  const at::Tensor ours = evaluate(model, kSource, kTargetIn);
  const at::Tensor theirs = Reference(model).forward(kSource, kTargetIn, 2);
  CHECK(ours.sizes() == at::IntArrayRef({2, 4, kVocabulary}));
  CHECK(largest_difference(ours, theirs) < kTolerance);
}

TEST_CASE("padding after a source does not change the logits") {
  const Model model = make_model();
  const at::Tensor with = evaluate(model, tokens({{7, 8, 2, 0, 0}}), tokens({{1, 5, 6}}));
  const at::Tensor without = evaluate(model, tokens({{7, 8, 2}}), tokens({{1, 5, 6}}));
  CHECK(largest_difference(with, without) < kTolerance);
}

TEST_CASE("no logit depends on a later token, and every one on the tokens before it") {
  const Model model = make_model();
  const at::Tensor first = evaluate(model, kSource.slice(0, 0, 1), tokens({{1, 9, 8, 7}}));
  const at::Tensor other = evaluate(model, kSource.slice(0, 0, 1), tokens({{1, 9, 4, 7}}));
  CHECK(largest_difference(first.slice(1, 0, 2), other.slice(1, 0, 2)) < kTolerance);
  for (int64_t place = 2; place < 4; ++place)
    CHECK(largest_difference(first.select(1, place), other.select(1, place)) > 100 * kTolerance);
}

TEST_CASE("a source of only padding gives finite logits") {
  const Model model = make_model();
  CHECK(torch::isfinite(evaluate(model, tokens({{0, 0, 0}}), tokens({{1, 2}}))).all().item<bool>());
}

TEST_CASE("tied embeddings share one matrix, which is saved once") {
  const auto names = [](const std::string& tied) {
    std::vector<std::string> found;
    const Model model = make_model({{"tied_embeddings", tied}});
    for (const auto& named : model.tensors())
      if (named.tensor.dim() == 2 && named.tensor.size(0) == kVocabulary) found.push_back(named.name);
    return found;
  };
  CHECK(names("all") == std::vector<std::string>{"embedding.weight"});
  CHECK(names("target") == std::vector<std::string>{"source_embedding.weight", "target_embedding.weight"});
  CHECK(names("none") ==
        std::vector<std::string>{"source_embedding.weight", "target_embedding.weight", "output.weight"});
}

TEST_CASE("a transformer generates the most likely next token up to EOS, from the source only") {
  const Values generating = {{"generate", int64_t{6}}};
  const at::Tensor free = [&] {
    const torch::NoGradGuard no_gradient;
    return make_model(generating).forward({}, {kSource, kTargetIn})[1];
  }();
  REQUIRE(free.sizes() == at::IntArrayRef({2, 6}));
  // The end token is the third generated token of the first sample, so generation ends there or earlier.
  const int64_t end = free[0][2].item<int64_t>();
  Values ending = generating;
  ending["eos_id"] = end;
  const Model model = make_model(ending);
  const torch::NoGradGuard no_gradient;
  const at::Tensor generated = model.forward({}, {kSource, kTargetIn})[1];
  at::Tensor expected = torch::zeros({2, 6}, torch::kInt64);
  for (int64_t sample = 0; sample < 2; ++sample) {
    std::vector<int64_t> written = {2};
    while (written.size() <= 6 && (written.size() == 1 || written.back() != end)) {
      const at::Tensor logits = evaluate(model, kSource.slice(0, sample, sample + 1), tokens({written}));
      written.push_back(logits[0][-1].argmax().item<int64_t>());
      expected[sample][static_cast<int64_t>(written.size()) - 2] = written.back();
    }
  }
  CHECK(torch::equal(generated, expected));
  CHECK(generated[0].slice(0, 3).eq(0).all().item<bool>());
  CHECK(torch::equal(model.forward({}, {kSource, tokens({{1}, {1}})})[1], generated));
  CHECK(model.forward({.training = true}, {kSource, kTargetIn})[1].eq(0).all().item<bool>());
}

TEST_CASE("every weight of a pre-norm transformer gets a gradient") {
  const Model model = make_model({{"tied_embeddings", std::string("none")}, {"dropout", 0.0}});
  model.forward({.training = true}, {kSource, kTargetIn})[0].square().mean().backward();
  for (const auto& named : model.tensors()) {
    CAPTURE(named.name);
    // A softmax is invariant to a constant that is added to all keys.
    if (named.name.ends_with(".key.bias")) continue;
    REQUIRE(named.tensor.grad().defined());
    CHECK(named.tensor.grad().abs().sum().item<double>() > 0);
  }
}

TEST_CASE("tokens are declared to be below the vocabulary size, and an indivisible width is rejected") {
  const Model model = make_model();
  for (const tenon::components::Port& port : model.inputs()) CHECK(port.indices.value().limit == 11);
  CHECK_THROWS_WITH_AS(make_model({{"heads", int64_t{3}}}), doctest::Contains("width = 8 with heads = 3"),
                       tenon::support::Error);
}

}  // namespace seq2seq_transformer_test
