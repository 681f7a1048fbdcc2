// Compares the plugin seq2seq_gru with the same network in PyTorch. tests/parity/make_seq2seq_gru.py writes the
// reference. Both sides compute the weights with a formula.
#include "framework/pipeline/build/load_weights.h"
#include "framework/support/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/rounding.h"
#include "tests/bundled/scattered_numbers.h"
#include "tests/doctest_with_torch.h"

namespace seq2seq_gru_test {

using namespace tenon::bundled;
using tenon::config::Values;
using tenon::plugins::Model;
using tenon::plugins::NamedTensor;

namespace {

constexpr int64_t kVocabulary = 13;
constexpr int64_t kGenerate = 6;

at::Tensor tokens(const std::vector<std::vector<int64_t>>& rows) {
  std::vector<at::Tensor> all;
  for (const std::vector<int64_t>& row : rows) all.push_back(torch::tensor(row, torch::kInt64));
  return torch::stack(all);
}

const at::Tensor kSource = tokens({{5, 6, 7, 8, 3}, {9, 10, 3, 0, 0}, {3, 0, 0, 0, 0}});
const at::Tensor kTargetIn = tokens({{2, 12, 11, 10}, {2, 4, 0, 0}, {2, 7, 7, 0}});
const at::Tensor kTarget = tokens({{12, 11, 10, 3}, {4, 3, -100, -100}, {7, 7, 3, -100}});

struct Case {
  std::string name;
  int64_t encoder_layers, decoder_layers;
  std::string tied;
  int64_t end;
};
const Case kCases[] = {{"small", 1, 1, "all", 12}, {"deep", 2, 3, "none", 11}};

Model make_model(const Values& changes = {}) {
  Values params = {{"vocabulary_size", kVocabulary}, {"width", int64_t{8}}, {"dropout", 0.0}};
  for (const auto& [name, value] : changes) params[name] = value;
  Model model = open_model("seq2seq_gru", params);
  model.build();
  return model;
}

int64_t salt_of(const std::string& name) {
  int64_t sum = 0;
  for (size_t place = 0; place < name.size(); ++place) sum += static_cast<int64_t>(place + 1) * name[place];
  return sum % 997;
}

void fill(const Model& model, torch::Dtype dtype) {
  const torch::NoGradGuard no_gradient;
  for (const NamedTensor& named : model.tensors())
    named.tensor.set_data((scatter(named.tensor.sizes(), salt_of(named.name)) * 2).to(dtype));
}

Model make_network(const Case& of, torch::Dtype dtype) {
  Model model = make_model({{"encoder_layers", of.encoder_layers},
                            {"decoder_layers", of.decoder_layers},
                            {"tied_embeddings", of.tied},
                            {"generate", kGenerate},
                            {"eos_id", of.end}});
  fill(model, dtype);
  return model;
}

struct Expected {
  at::Tensor logits, generated;
  std::vector<at::Tensor> gradients;  // in the order of the model's tensors
};

// Reads the reference by the names of the model's tensors. An additional or missing tensor is an error.
Expected read_expected(const std::string& case_name) {
  std::vector<NamedTensor> all;
  Expected expected;
  for (const Case& of : kCases) {
    const auto add = [&](const std::string& name, const std::vector<int64_t>& shape, torch::Dtype dtype) {
      all.push_back({of.name + "." + name, torch::zeros(shape, dtype), false});
      return all.back().tensor;
    };
    Expected found = {
        add("logits", {3, 4, kVocabulary}, torch::kDouble), add("generated", {3, kGenerate}, torch::kInt64), {}};
    const Model network = make_network(of, torch::kFloat);
    for (const NamedTensor& named : network.tensors())
      found.gradients.push_back(add("gradient." + named.name, {4}, torch::kDouble));
    if (of.name == case_name) expected = found;
  }
  tenon::pipeline::load_weights(TENON_SOURCE_DIR "/tests/parity/reference/seq2seq_gru.safetensors", all);
  return expected;
}

std::vector<at::Tensor> evaluate(const Model& model, const at::Tensor& source, const at::Tensor& target_in) {
  const torch::NoGradGuard no_gradient;
  return model.forward({}, {source, target_in});
}

void keep(const Model&) {}

// Multiplies all numbers by 1 + u or 1 - u.
void perturb(const Model& model) {
  const torch::NoGradGuard no_gradient;
  for (const NamedTensor& named : model.tensors())
    named.tensor.set_data(perturbed(named.tensor, salt_of(named.name) + 1));
}

Expected run(const Case& of, torch::Dtype dtype, void (*change)(const Model&) = keep) {
  const Model model = make_network(of, dtype);
  change(model);
  const at::Tensor logits = model.forward({.training = true}, {kSource, kTargetIn})[0];
  torch::cross_entropy_loss(logits.flatten(0, 1), kTarget.flatten()).backward();
  Expected found{logits.detach().to(torch::kDouble), evaluate(model, kSource, kTargetIn)[1], {}};
  for (const NamedTensor& named : model.tensors()) found.gradients.push_back(sketch(named.tensor.grad()));
  return found;
}

// Returns the largest relative difference of logits and gradients.
double difference(const Expected& found, const Expected& expected) {
  double largest = largest_difference(found.logits, expected.logits);
  for (size_t i = 0; i < expected.gradients.size(); ++i)
    largest = std::max(largest, largest_difference(found.gradients[i], expected.gradients[i]));
  return largest;
}

void check_close(const Expected& found, const Expected& expected, double tolerance) {
  CHECK(largest_difference(found.logits, expected.logits) < tolerance);
  REQUIRE(found.gradients.size() == expected.gradients.size());
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    CAPTURE(i);
    CHECK(largest_difference(found.gradients[i], expected.gradients[i]) < tolerance);
  }
  CHECK(torch::equal(found.generated, expected.generated));
}

}  // namespace

TEST_CASE("seq2seq_gru has the logits, gradients and generated tokens of torch.nn.GRU over packed sequences") {
  for (const Case& of : kCases) {
    CAPTURE(of.name);
    const Expected expected = read_expected(of.name);
    const Expected exact = run(of, torch::kDouble), single = run(of, torch::kFloat);
    check_close(exact, expected, double_tolerance(difference(single, exact)));
    check_close(single, expected, single_tolerance(difference(run(of, torch::kDouble, perturb), exact)));
  }
}

TEST_CASE("seq2seq_gru generates from the source only, and in training generates padding") {
  const Model model = make_network(kCases[1], torch::kFloat);
  const at::Tensor generated = evaluate(model, kSource, kTargetIn)[1];
  CHECK(torch::equal(evaluate(model, kSource, tokens({{2}, {2}, {2}}))[1], generated));
  CHECK_FALSE(torch::equal(evaluate(model, kSource.flip(0), kTargetIn)[1], generated));
  CHECK(torch::equal(model.forward({.training = true}, {kSource, kTargetIn})[1],
                     torch::zeros({3, kGenerate}, torch::kInt64)));
  CHECK(make_model().forward({}, {kSource, kTargetIn}).size() == 1);
}

TEST_CASE("padding after a source does not change the outputs of seq2seq_gru") {
  const Model model = make_network(kCases[1], torch::kDouble);
  const std::vector<at::Tensor> with = evaluate(model, tokens({{9, 10, 3, 0, 0}}), tokens({{2, 4}}));
  const std::vector<at::Tensor> without = evaluate(model, tokens({{9, 10, 3}}), tokens({{2, 4}}));
  // A path has at most 30 operations in each of 5 steps. The longest sums have 3 * 8 terms.
  CHECK(largest_difference(with[0], without[0]) < worst_rounding(kDoubleRoundoff, 5 * 30, 24));
  CHECK(torch::equal(with[1], without[1]));
}

TEST_CASE("a source of only padding gives finite outputs") {
  const Model model = make_network(kCases[0], torch::kFloat);
  CHECK(torch::isfinite(evaluate(model, tokens({{0, 0, 0}}), tokens({{2, 4}}))[0]).all().item<bool>());
}

TEST_CASE("seq2seq_gru applies dropout only in training") {
  const Model model = make_model({{"dropout", 0.5}, {"encoder_layers", int64_t{2}}, {"decoder_layers", int64_t{2}}});
  CHECK(torch::equal(evaluate(model, kSource, kTargetIn)[0], evaluate(model, kSource, kTargetIn)[0]));
  const torch::NoGradGuard no_gradient;
  CHECK_FALSE(torch::equal(model.forward({.training = true}, {kSource, kTargetIn})[0],
                           model.forward({.training = true}, {kSource, kTargetIn})[0]));
}

TEST_CASE("seq2seq_gru declares that tokens are below the vocabulary size, and rejects an odd width") {
  const Model model = make_model();
  for (const tenon::plugins::Port& port : model.inputs()) CHECK(port.indices.value().limit == 13);
  CHECK_THROWS_WITH_AS(
      make_model({{"width", int64_t{7}}}),
      doctest::Contains("width = 7; expected an even number, because each direction has half the width"),
      tenon::support::Error);
}

}  // namespace seq2seq_gru_test
