#include "framework/pipeline/tools/overfit.h"

#include <cmath>

#include "framework/pipeline/tools/learning_rate_search.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

OverfitReport overfit_with(std::vector<std::string> overrides, int64_t steps, double threshold) {
  for (const char* text : {"data.batch_size=10", "data.limit_batches=1", "data.shuffle=false", "data.workers=0"})
    overrides.push_back(text);
  BuiltRun run({overrides});
  return overfit(*run.training, steps, threshold);
}

const std::string kAdam = "optimizer={use=\"adamw\",lr=0.01}";

}  // namespace

TEST_CASE("the model overfits ten digits") {
  const OverfitReport report = overfit_with({kAdam}, 300, 0.01);
  CHECK(report.is_reached);
  CHECK(report.samples == 10);
  CHECK(report.steps < 300);
  CHECK(report.last_loss < 0.01);
  CHECK(report.first_loss > 1);
  CHECK(report.without_gradient.empty());
  CHECK(report.constant_outputs.empty());
}

TEST_CASE("a threshold that is not reached is reported") {
  const OverfitReport report = overfit_with({"optimizer={use=\"sgd\",lr=1e-6}"}, 5, 0.01);
  CHECK_FALSE(report.is_reached);
  CHECK(report.steps == 5);
  CHECK(report.last_loss > 0.9 * report.first_loss);
}

TEST_CASE("parameters without a gradient and constant outputs are reported") {
  BuiltRun run({{kAdam, "data.batch_size=10", "data.limit_batches=1", "data.shuffle=false"}});
  // Biases below any input disable the hidden layer, so the output is only the last bias.
  for (const auto& named : run.training->model.tensors()) {
    const torch::NoGradGuard no_grad;
    if (named.name == "layers.0.bias") at::Tensor(named.tensor).fill_(-100);
  }
  const OverfitReport report = overfit(*run.training, 5, 0.01);
  CHECK(report.without_gradient == std::vector<std::string>{"layers.0.weight", "layers.0.bias", "layers.1.weight"});
  CHECK(report.constant_outputs == std::vector<std::string>{"logits"});
}

TEST_CASE("the search raises the learning rate geometrically and ends when the loss diverges") {
  BuiltRun run({{"data.batch_size=32"}});
  const LearningRateSearch search = search_learning_rate(*run.training, 1e-4, 1e4, 81, [] { return true; });
  CHECK(search.diverged);
  REQUIRE(search.trials.size() > 10);
  CHECK(search.trials.size() < 81);
  for (size_t i = 1; i < search.trials.size(); ++i)
    CHECK(search.trials[i].learning_rate / search.trials[i - 1].learning_rate == doctest::Approx(std::pow(10, 0.1)));
  REQUIRE(search.suggestion.has_value());
  const double suggested = search.trials[*search.suggestion].learning_rate;
  CHECK(suggested > 1e-3);
  CHECK(suggested < 10);
}

TEST_CASE("the search can be interrupted") {
  BuiltRun run({{"data.batch_size=32"}});
  int requested = 0;
  const LearningRateSearch search = search_learning_rate(*run.training, 1e-4, 1, 50, [&] { return ++requested <= 3; });
  CHECK(search.trials.size() == 3);
}
