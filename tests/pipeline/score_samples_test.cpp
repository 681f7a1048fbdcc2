// Compares the best and worst samples with the results of PyTorch's operators for each sample.
#include "framework/pipeline/tools/score_samples.h"

#include <torch/nn/functional/loss.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "framework/data/sampler.h"
#include "framework/pipeline/evaluation/predict.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

struct Expected {
  std::map<int64_t, double> losses;  // by sample
  at::Tensor counts = at::zeros({10, 10}, at::kLong);
  std::map<int64_t, int64_t> predicted;
};

// Computed from the model's outputs for whole batches, for `count` samples that are spread over the data.
Expected look_at(BuiltRun& run, int64_t count) {
  Expected expected;
  const int64_t size = run.training->validation.front()->feed.sampler().size();
  const std::vector<int64_t> samples = tenon::data::spread_places(size, count);
  predict(*run.training, *run.training->validation.front(), {}, [&](const Prediction& batch) {
    const at::Tensor& logits = batch.batch_tensors.outputs[0];
    const at::Tensor& label = batch.batch_tensors.fields[1];
    for (size_t i = 0; i < batch.indices.size(); ++i) {
      if (!std::ranges::binary_search(samples, batch.indices[i])) continue;
      const auto row = static_cast<int64_t>(i);
      const auto target = label[row].item<int64_t>(), predicted_class = logits[row].argmax().item<int64_t>();
      expected.losses[batch.indices[i]] = -logits[row].log_softmax(0)[target].item<double>();
      expected.predicted[batch.indices[i]] = predicted_class;
      expected.counts[target][predicted_class] += 1;
    }
    return true;
  });
  return expected;
}

const at::Tensor& find_value(const ScoredSample& sample, const std::string& name) {
  const auto found = std::ranges::find(sample.values, name, &NamedValue::name);
  REQUIRE(found != sample.values.end());
  return found->value;
}

SampleScores score(BuiltRun& run, const ScoringLimits& limits) {
  return score_samples(*run.training, *run.training->validation.front(), {}, limits);
}

}  // namespace

TEST_CASE("samples are ranked by their losses, and classes are counted, as if computed one by one") {
  BuiltRun run({{"train.epochs=2"}});
  run.train();
  const SampleScores scores = score(run, {200, 5});
  const Expected expected = look_at(run, 200);
  CHECK(scores.data == "validation");
  CHECK(scores.scored == 200);
  CHECK(scores.size == run.training->validation.front()->feed.sampler().size());
  std::vector<double> sorted;
  for (const auto& [index, loss] : expected.losses) sorted.push_back(loss);
  std::ranges::sort(sorted);
  REQUIRE(scores.worst.size() == 5);
  REQUIRE(scores.best.size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    CHECK(scores.best[i].loss == doctest::Approx(sorted[i]).epsilon(1e-5));
    CHECK(scores.worst[i].loss == doctest::Approx(sorted[sorted.size() - 1 - i]).epsilon(1e-5));
  }
  for (const auto* group : {&scores.worst, &scores.best})
    for (const ScoredSample& sample : *group) {
      CHECK(sample.loss == doctest::Approx(expected.losses.at(sample.index)).epsilon(1e-5));
      CHECK(find_value(sample, "predicted label").item<int64_t>() == expected.predicted.at(sample.index));
      CHECK(find_value(sample, "image").sizes() == at::IntArrayRef({1, 8, 8}));
    }
  REQUIRE(scores.classes.size() == 1);
  CHECK(scores.classes[0].output == "logits");
  CHECK(scores.classes[0].target == "label");
  CHECK(scores.classes[0].is_per_sample);
  CHECK(at::equal(scores.classes[0].counts, expected.counts));
}

TEST_CASE("with few samples, none is in both the best and the worst") {
  BuiltRun run({{"train.epochs=1"}});
  const SampleScores scores = score(run, {7, 6});
  CHECK(scores.scored == 7);
  CHECK(scores.worst.size() == 4);
  CHECK(scores.best.size() == 3);
  CHECK(scores.best.back().loss <= scores.worst.back().loss);
}

TEST_CASE("an interrupted search returns the samples scored so far") {
  BuiltRun run({{"train.epochs=1", "data.validation_batch_size=64"}});
  const SampleScores scores =
      score_samples(*run.training, *run.training->validation.front(), {}, {500, 3}, [] { return false; });
  CHECK(scores.scored == 64);
  CHECK(scores.worst.size() == 3);
}

TEST_CASE("a second pass gives the same result and does not change the model") {
  BuiltRun run({{"train.epochs=1"}});
  const SampleScores first = score(run, {50, 3}), second = score(run, {50, 3});
  REQUIRE(first.worst.size() == second.worst.size());
  for (size_t i = 0; i < first.worst.size(); ++i) {
    CHECK(first.worst[i].index == second.worst[i].index);
    CHECK(first.worst[i].loss == second.worst[i].loss);
  }
}

TEST_CASE("if all losses are NaN, nothing is ranked and samples are still counted") {
  BuiltRun run({{"train.epochs=1"}});
  const torch::NoGradGuard no_grad;
  for (const auto& one : run.training->model.tensors()) at::Tensor(one.tensor).fill_(std::nan(""));
  const SampleScores scores = score(run, {20, 3});
  CHECK(scores.scored == 20);
  CHECK(scores.worst.empty());
  CHECK(scores.best.empty());
}
