// Compares the plugin gpt with the same network in PyTorch. tests/parity/make_gpt.py writes the reference. Both sides
// compute weights and tokens with a formula.
#include <cmath>
#include <filesystem>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/pipeline/build/load_weights.h"
#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/rounding.h"
#include "tests/bundled/scattered_numbers.h"
#include "tests/doctest_with_torch.h"
#include "tests/test_folder.h"

namespace gpt_test {

using namespace tenon::bundled;
using tenon::components::Model;
using tenon::components::NamedTensor;
using tenon::config::Values;

namespace {

constexpr int64_t kVocabulary = 11;
constexpr int64_t kSteps = 5;
constexpr double kRate = 0.1;

struct Case {
  std::string name;
  bool has_bias;
};
const Case kCases[] = {{"biased", true}, {"unbiased", false}};

Model make_model(const Values& changes = {}) {
  return build_model("gpt", merged({{"vocabulary_size", kVocabulary},
                                    {"context", int64_t{8}},
                                    {"layers", int64_t{2}},
                                    {"heads", int64_t{2}},
                                    {"width", int64_t{8}}},
                                   changes));
}

at::Tensor make_tokens(int64_t step) {
  const at::Tensor index = torch::arange(16).reshape({2, 8});
  return (index * index * 5 + index * 3 + step).remainder(kVocabulary);
}

void fill(const Model& model, torch::Dtype dtype) {
  const torch::NoGradGuard no_gradient;
  int64_t salt = 0;
  for (const NamedTensor& named : model.tensors()) {
    const bool is_scale = named.name.ends_with("weight") && named.tensor.dim() == 1;
    named.tensor.set_data((scatter(named.tensor.sizes(), salt++) + (is_scale ? 1 : 0)).to(dtype));
  }
}

struct Expected {
  at::Tensor logits, losses;
  std::vector<at::Tensor> gradients;  // in the order of the model's tensors
};

// Reads the reference by the names of the model's tensors. An additional or missing tensor is an error.
Expected read_expected(const std::string& case_name) {
  std::vector<NamedTensor> all;
  Expected expected;
  for (const Case& of : kCases) {
    const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
      all.push_back({of.name + "." + name, torch::zeros(shape, torch::kDouble), false});
      return all.back().tensor;
    };
    Expected found = {add("logits", {2, 7, kVocabulary}), add("losses", {kSteps}), {}};
    const Model model = make_model({{"bias", of.has_bias}});
    for (const NamedTensor& named : model.tensors()) found.gradients.push_back(add("gradient." + named.name, {4}));
    if (of.name == case_name) expected = found;
  }
  tenon::pipeline::load_weights(TENON_SOURCE_DIR "/tests/parity/reference/gpt.safetensors", all);
  return expected;
}

at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& tokens) {
  return torch::cross_entropy_loss(logits.flatten(0, 1), tokens.slice(1, 1).flatten());
}

void keep(const Model&) {}

// Multiplies all numbers by 1 + u or 1 - u.
void perturb(const Model& model) {
  int64_t salt = 0;
  for (const NamedTensor& named : model.tensors()) named.tensor.set_data(perturbed(named.tensor.detach(), salt++));
}

// Runs some SGD steps. Returns the logits and sketched gradients of the first step.
Expected train(const Case& of, torch::Dtype dtype, void (*change)(const Model&) = keep) {
  const Model model = make_model({{"bias", of.has_bias}});
  fill(model, dtype);
  change(model);
  Expected trained;
  std::vector<double> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    const at::Tensor tokens = make_tokens(step);
    const at::Tensor logits = model.forward({.training = true, .step = step}, {tokens.slice(1, 0, 7)})[0];
    const at::Tensor loss = loss_of(logits, tokens);
    loss.backward();
    losses.push_back(loss.item<double>());
    if (step == 0) trained.logits = logits.detach().to(torch::kDouble);
    const torch::NoGradGuard no_gradient;
    for (const NamedTensor& named : model.tensors()) {
      if (step == 0) trained.gradients.push_back(sketch(named.tensor.grad()));
      named.tensor.sub_(named.tensor.grad() * kRate);
      named.tensor.mutable_grad().reset();
    }
  }
  trained.losses = torch::tensor(losses, torch::kDouble);
  return trained;
}

// Returns the largest relative difference of logits, losses and gradients.
double difference(const Expected& found, const Expected& expected) {
  double largest =
      std::max(largest_difference(found.logits, expected.logits), largest_difference(found.losses, expected.losses));
  for (size_t i = 0; i < expected.gradients.size(); ++i)
    largest = std::max(largest, largest_difference(found.gradients[i], expected.gradients[i]));
  return largest;
}

void check_close(const Expected& found, const Expected& expected, double tolerance) {
  CHECK(largest_difference(found.logits, expected.logits) < tolerance);
  CHECK(largest_difference(found.losses, expected.losses) < tolerance);
  REQUIRE(found.gradients.size() == expected.gradients.size());
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    CAPTURE(i);
    CHECK(largest_difference(found.gradients[i], expected.gradients[i]) < tolerance);
  }
}

at::Tensor evaluate(const Model& model, const at::Tensor& tokens) {
  const torch::NoGradGuard no_gradient;
  return model.forward({}, {tokens})[0];
}

}  // namespace

TEST_CASE("gpt has PyTorch's logits, gradients and training losses in double and single precision") {
  for (const Case& of : kCases) {
    CAPTURE(of.name);
    const Expected expected = read_expected(of.name);
    const Expected exact = train(of, torch::kDouble), single = train(of, torch::kFloat);
    check_close(exact, expected, double_tolerance(difference(single, exact)));
    check_close(single, expected, single_tolerance(difference(train(of, torch::kDouble, perturb), exact)));
  }
}

TEST_CASE("no logit of gpt depends on a later token") {
  const Model model = make_model();
  fill(model, torch::kFloat);
  const at::Tensor tokens = make_tokens(0);
  at::Tensor other = tokens.clone();
  other.select(1, 4).add_(1).remainder_(kVocabulary);
  const at::Tensor difference = (evaluate(model, tokens) - evaluate(model, other)).abs().amax(2);
  CHECK(difference.slice(1, 0, 4).max().item<double>() == 0);
  CHECK(difference.slice(1, 4).min().item<double>() > 1e-4);
}

TEST_CASE("gpt loads the state of nanoGPT, which contains the tied matrix under two names or one of them") {
  const Model from = make_model();
  fill(from, torch::kFloat);
  std::vector<tenon::artifacts::TensorView> views;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    views.push_back({name, TENON_FLOAT32, tensor.sizes().vec(), static_cast<const std::byte*>(tensor.const_data_ptr()),
                     tensor.nbytes()});
  };
  const at::Tensor other = at::ones_like(from.tensors()[0].tensor);
  const char* refused = nullptr;
  SUBCASE("both, as state_dict() has them") {
    for (const NamedTensor& named : from.tensors()) add("_orig_mod." + named.name, named.tensor);
    add("_orig_mod.lm_head.weight", from.tensors()[0].tensor);
  }
  SUBCASE("one, as safetensors.torch.save_model writes it") {
    for (const NamedTensor& named : from.tensors())
      add(named.name == "transformer.wte.weight" ? "lm_head.weight" : named.name, named.tensor);
  }
  SUBCASE("two different matrices are refused") {
    for (const NamedTensor& named : from.tensors()) add(named.name, named.tensor);
    add("lm_head.weight", other);
    refused = "transformer.wte.weight and lm_head.weight differ";
  }
  std::vector<at::Tensor> transposed;  // views point into them
  SUBCASE("the matrices of Hugging Face's GPT-2 are refused by name") {
    for (const NamedTensor& named : from.tensors()) {
      const bool is_conv1d = named.name.find(".c_") != std::string::npos && named.tensor.dim() == 2;
      add(named.name, is_conv1d ? transposed.emplace_back(named.tensor.t().contiguous()) : named.tensor);
    }
    refused = "as in Hugging Face's GPT-2 (Conv1D): transpose them in a converted file";
  }
  const std::filesystem::path file = tenon::test_folder() / "nanogpt.safetensors";
  tenon::artifacts::write_safetensors(file, views, {}, tenon::support::ErrorKind::checkpoint);
  const Model to = make_model();
  std::vector<NamedTensor> named = to.tensors();
  named.insert(named.end(), to.tied_tensors().begin(), to.tied_tensors().end());
  if (refused) {
    CHECK_THROWS_WITH_AS(tenon::pipeline::load_weights(file, named), doctest::Contains(refused), tenon::support::Error);
    return;
  }
  tenon::pipeline::load_weights(file, named);
  for (size_t i = 0; i < to.tensors().size(); ++i) {
    CAPTURE(to.tensors()[i].name);
    CHECK(torch::equal(to.tensors()[i].tensor, from.tensors()[i].tensor));
  }
}

TEST_CASE("gpt is initialised with GPT-2's distributions") {
  torch::manual_seed(1);
  const Model model = make_model({{"vocabulary_size", int64_t{500}}, {"width", int64_t{64}}, {"layers", int64_t{8}}});
  for (const NamedTensor& named : model.tensors()) {
    CAPTURE(named.name);
    if (named.tensor.dim() == 2) {
      const double deviation = named.name.ends_with("c_proj.weight") ? 0.02 / 4 : 0.02;  // 4: sqrt(2 * 8 layers)
      CHECK(named.tensor.std().item<double>() == doctest::Approx(deviation).epsilon(0.1));
      CHECK(named.tensor.abs().max().item<double>() > 2.3 * deviation);  // a uniform distribution ends at 1.7
    } else {
      CHECK(named.tensor.eq(named.name.ends_with(".weight") ? 1 : 0).all().item<bool>());
    }
  }
}

TEST_CASE("activation checkpointing of gpt recomputes its layers with the same dropout and gradients") {
  std::vector<std::vector<at::Tensor>> gradients;
  for (const bool checkpoints : {false, true}) {
    torch::manual_seed(5);
    const Model model = make_model({{"dropout", 0.3}});
    const at::Tensor tokens = make_tokens(0);
    const at::Tensor logits =
        model.forward({.training = true, .checkpoints_activations = checkpoints}, {tokens.slice(1, 0, 7)})[0];
    loss_of(logits, tokens).backward();
    gradients.emplace_back();
    for (const NamedTensor& named : model.tensors()) gradients.back().push_back(named.tensor.grad());
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) CHECK(torch::equal(gradients[0][i], gradients[1][i]));
}

TEST_CASE("gpt applies dropout only in training") {
  const Model model = make_model({{"dropout", 0.5}});
  const at::Tensor tokens = make_tokens(0);
  CHECK(torch::equal(evaluate(model, tokens), evaluate(model, tokens)));
  const torch::NoGradGuard no_gradient;
  CHECK_FALSE(
      torch::equal(model.forward({.training = true}, {tokens})[0], model.forward({.training = true}, {tokens})[0]));
}

TEST_CASE("gpt rejects unsupported sizes with a message that names the parameter to set") {
  const Model model = make_model();
  CHECK(model.inputs()[0].indices.value().limit == 11);
  CHECK_THROWS_WITH_AS(evaluate(model, torch::zeros({1, 9}, torch::kInt64)),
                       doctest::Contains("tokens has 9 positions; expected at most 8, the parameter context"),
                       tenon::support::Error);
  CHECK_THROWS_WITH_AS(make_model({{"heads", int64_t{3}}}),
                       doctest::Contains("width = 8 with heads = 3; expected a width that is a multiple of heads"),
                       tenon::support::Error);
}

}  // namespace gpt_test
