// Compares the loss and the metrics of sequences, which count tokens, with LibTorch's cross entropy and with values
// counted by hand.
#include <torch/nn/functional.h>

#include <cmath>

#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/metric.h"
#include "tests/bundled/opened_components.h"
#include "tests/doctest_with_torch.h"

namespace token_metrics_test {

using namespace tenon::bundled;
using tenon::components::Loss;
using tenon::components::Metric;
namespace F = torch::nn::functional;

namespace {

constexpr int64_t kIgnored = -100;

Loss open_sequence_loss(const tenon::config::Values& params = {}) {
  return open_loss("sequence_cross_entropy", params);
}

// Three sequences of 4, 2 and 1 tokens from a vocabulary of 5.
struct Batch {
  Batch() {
    torch::manual_seed(1);
    logits = torch::randn({3, 4, 5}, torch::kFloat64);
    target = torch::tensor({{1, 2, 3, 4}, {0, 4, -100, -100}, {2, -100, -100, -100}}, torch::kInt64);
  }
  at::Tensor logits, target;
};

void check_like_torch(double label_smoothing) {
  const Batch batch;
  const at::Tensor ours = batch.logits.clone().requires_grad_(true);
  const at::Tensor theirs = batch.logits.clone().requires_grad_(true);
  const auto result =
      open_sequence_loss({{"label_smoothing", label_smoothing}}).forward({.training = true}, {ours, batch.target});
  const at::Tensor expected =
      F::cross_entropy(theirs.transpose(1, 2), batch.target,
                       F::CrossEntropyFuncOptions().ignore_index(kIgnored).label_smoothing(label_smoothing));
  result.loss.backward();
  expected.backward();
  CHECK(result.weight_tensor.item<int64_t>() == 7);
  CHECK(result.loss.item<double>() == doctest::Approx(expected.item<double>()).epsilon(1e-12));
  CHECK(torch::allclose(ours.grad(), theirs.grad(), 1e-12, 1e-12));
}

}  // namespace

TEST_CASE("sequence_cross_entropy equals LibTorch's mean over tokens that are not ignored") {
  check_like_torch(0);
  check_like_torch(0.1);
}

TEST_CASE("sequence_cross_entropy of only ignored tokens is 0, with the weight 0") {
  const Batch batch;
  const at::Tensor logits = batch.logits.clone().requires_grad_(true);
  const auto result = open_sequence_loss().forward({.training = true}, {logits, torch::full({3, 4}, kIgnored)});
  result.loss.backward();
  CHECK(result.loss.item<double>() == 0);
  CHECK(result.weight_tensor.item<int64_t>() == 0);
  CHECK(torch::equal(logits.grad(), torch::zeros_like(logits)));
}

TEST_CASE("perplexity covers all tokens, for any length of sequences and batches") {
  const Batch batch;
  Metric metric = open_metric("perplexity");
  metric.reset();
  // The batches have different sizes, and padding must not count.
  metric.update({}, {batch.logits.slice(0, 0, 1), batch.target.slice(0, 0, 1)});
  metric.update({}, {batch.logits.slice(0, 1), batch.target.slice(0, 1)});
  const at::Tensor mean = F::cross_entropy(batch.logits.transpose(1, 2), batch.target);
  const std::vector<double> values = metric.compute({});
  REQUIRE(values.size() == 1);
  CHECK(values[0] == doctest::Approx(std::exp(mean.item<double>())).epsilon(1e-5));
}

TEST_CASE("perplexity of uniform predictions is the size of the vocabulary") {
  Metric metric = open_metric("perplexity");
  metric.reset();
  metric.update({}, {torch::zeros({2, 3, 11}), torch::tensor({{1, 2, 3}, {4, -100, -100}}, torch::kInt64)});
  CHECK(metric.compute({})[0] == doctest::Approx(11));
}

TEST_CASE("token_accuracy counts tokens and whole sequences, except ignored ones") {
  // The first sequence is correct, the second has one correct token of two, and the third is completely ignored.
  const at::Tensor target = torch::tensor({{1, 2, 3}, {4, 0, -100}, {-100, -100, -100}}, torch::kInt64);
  const at::Tensor predicted = torch::tensor({{1, 2, 3}, {4, 1, 0}, {0, 0, 0}}, torch::kInt64);
  Metric metric = open_metric("token_accuracy");
  metric.reset();
  metric.update({}, {torch::one_hot(predicted, 5).to(torch::kFloat32), target});
  CHECK(metric.compute({}) == std::vector<double>{0.8, 0.5});
}

TEST_CASE("token_accuracy and perplexity without tokens are NaN") {
  for (const char* id : {"token_accuracy", "perplexity"}) {
    Metric metric = open_metric(id);
    metric.reset();
    metric.update({}, {torch::zeros({1, 2, 3}), torch::full({1, 2}, kIgnored)});
    for (const double value : metric.compute({})) CHECK(std::isnan(value));
  }
}

}  // namespace token_metrics_test
