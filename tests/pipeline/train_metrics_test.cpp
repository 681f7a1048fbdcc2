// Metrics over the batches of an epoch: [[metric]] on = ["train"].
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

// The validation has the same samples as the training, and a learning rate that changes no weight.
Setup same_samples(const std::vector<std::string>& more = {}) {
  return {join_settings(
      {"train.epochs=1", "optimizer.lr=1e-30", "data.batch_size=100", "data.validation.params={split=\"train\"}",
       "metric=[{use=\"accuracy\",on=[\"train\",\"validation\"]},"
       "{use=\"roc_auc\",params={classes=10},on=[\"train\",\"validation\"]}]"},
      more)};
}

}  // namespace

TEST_CASE("training metrics equal those of a validation on the same samples") {
  for (const char* accumulate : {"train.accumulate=1", "train.accumulate=4"}) {
    CAPTURE(accumulate);
    BuiltRun run(same_samples({accumulate}));
    run.train();
    const auto epochs = run.recorder.of_kind(LineKind::epoch);
    const auto validations = run.recorder.of_kind(LineKind::validation);
    REQUIRE(epochs.size() == 1);
    REQUIRE(validations.size() == 1);
    CHECK(epochs[0].at("train/accuracy") == validations[0].at("validation/accuracy"));
    // Rows arrive in another order. Ties are counted in any order, so the areas are equal up to the rounding of sums.
    CHECK(epochs[0].at("train/roc_auc") == doctest::Approx(validations[0].at("validation/roc_auc")).epsilon(1e-12));
  }
}

TEST_CASE("training metrics start again with each epoch") {
  BuiltRun run(same_samples({"train.epochs=3"}));
  run.train();
  const auto epochs = run.recorder.of_kind(LineKind::epoch);
  REQUIRE(epochs.size() == 3);
  for (const RecordedLine& line : epochs) CHECK(line.at("train/accuracy") == epochs[0].at("train/accuracy"));
}

TEST_CASE("a metric is computed on the data that it names") {
  BuiltRun run({{"train.epochs=1",
                 "metric=[{use=\"accuracy\",on=[\"train\"]},"
                 "{use=\"roc_auc\",params={classes=10}}]"}});
  run.train();
  const auto has = [&](LineKind kind, const std::string& wanted) {
    const RecordedLine line = run.recorder.of_kind(kind).front();
    return std::ranges::any_of(line.metrics, [&](const auto& metric) { return metric.first == wanted; });
  };
  CHECK(has(LineKind::epoch, "train/accuracy"));
  CHECK_FALSE(has(LineKind::epoch, "train/roc_auc"));
  CHECK_FALSE(has(LineKind::validation, "validation/accuracy"));
  CHECK(has(LineKind::validation, "validation/roc_auc"));
}

TEST_CASE("training metrics need no validation data and may be monitored") {
  // The run ends after the second epoch, because the accuracy stays the same.
  BuiltRun run({{"train.epochs=9", "optimizer.lr=1e-30", "metric=[{use=\"accuracy\",on=[\"train\"]}]"},
                "[[callback]]\nuse = \"early_stopping\"\n"
                "params = { monitor = \"train/accuracy\", patience = 1 }\n"});
  run.train();
  CHECK(run.recorder.of_kind(LineKind::epoch).size() == 2);
}
