// Checkpoints that a run saves because of their metrics, or because a signal requests one.
#include <algorithm>

#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::contains;

namespace {

// Eight steps. By default only the last one is saved.
std::vector<std::string> make_overrides(const std::vector<std::string>& more) {
  return join_settings({"data.workers=0", "data.train.subset=\"10%\"", "data.batch_size=20", "train.epochs=1",
                        "validation.every=\"1 step\"", "checkpoint.every=\"never\""},
                       more);
}

// The value of each validation, with its step.
std::vector<std::pair<int64_t, double>> validations(const MemoryRecorder& recorder, const std::string& metric) {
  std::vector<std::pair<int64_t, double>> found;
  for (const RecordedLine& line : recorder.of_kind(LineKind::validation))
    found.emplace_back(line.step, line.at(metric));
  return found;
}

}  // namespace

TEST_CASE("the best validation so far is saved, regardless of [checkpoint] every") {
  for (const bool is_larger_better : {false, true}) {
    CAPTURE(is_larger_better);
    const std::string metric = is_larger_better ? "validation/accuracy" : "validation/loss";
    // The learning rate is so large that not every step is an improvement.
    BuiltRun run({make_overrides({"optimizer.lr=1.5", "checkpoint.monitor=\"" + metric + "\""})});
    const RunReport report = run.train();
    std::vector<int64_t> expected;
    std::pair<int64_t, double> best{-1, 0};
    for (const auto& [step, value] : validations(run.recorder, metric)) {
      const bool is_best = best.first < 0 || (is_larger_better ? value > best.second : value < best.second);
      if (is_best) best = {step, value};
      if (is_best || step == 8) expected.push_back(step);
    }
    REQUIRE(expected.size() < 8);
    CHECK(run.recorder.checkpoint_steps == expected);
    REQUIRE(report.best);
    CHECK(report.best->step == best.first);
    CHECK(report.best->value == best.second);
  }
}

TEST_CASE("the best is saved if validations and checkpoints are at different steps, and each step once") {
  BuiltRun run({make_overrides({"optimizer.lr=1.5", "validation.every=\"3 steps\"", "checkpoint.every=\"2 steps\""})});
  run.train();
  const auto all = validations(run.recorder, "validation/loss");
  const auto best = std::ranges::min_element(all, {}, [](const auto& one) { return one.second; });
  CHECK(std::ranges::count(run.recorder.checkpoint_steps, best->first) >= 1);
  std::vector<int64_t> steps = run.recorder.checkpoint_steps;
  for (const int64_t step : {2, 4, 6, 8}) CHECK(std::ranges::count(steps, step) >= 1);
}

TEST_CASE("the last checkpoint is written again with its metrics if its validation came later") {
  BuiltRun run({make_overrides(
      {"optimizer.lr=0.1", "validation.every=\"100 steps\"", "checkpoint.every=\"8 steps\"", "checkpoint.keep=1"})});
  run.train();
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{8, 8});
  CHECK(run.recorder.validation_losses.size() == 1);
}

TEST_CASE("several best checkpoints are saved") {
  BuiltRun run({make_overrides({"optimizer.lr=1.5", "checkpoint.keep_best=8"})});
  run.train();
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("the validation at the start may be the best") {
  BuiltRun run({make_overrides({"optimizer.lr=5", "validation.at_start=true"})});
  const RunReport report = run.train();
  REQUIRE(report.best);
  CHECK(report.best->step == 0);
  CHECK(run.recorder.checkpoint_steps.front() == 0);
}

TEST_CASE("without a monitor there is no best checkpoint") {
  BuiltRun run({make_overrides({"checkpoint.monitor=\"\""})});
  const RunReport report = run.train();
  CHECK_FALSE(report.best);
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{8});
}

TEST_CASE("load_best_at_end leaves the best weights in the model") {
  BuiltRun run({make_overrides({"optimizer.lr=1.5", "checkpoint.load_best_at_end=true"})});
  const RunReport report = run.train();
  REQUIRE(report.best);
  REQUIRE(report.best->step < 8);
  const BestCheckpoint best = run.recorder.read_best_checkpoint();
  REQUIRE(best.step == report.best->step);
  const auto& tensors = run.training->model.tensors();
  REQUIRE(best.model.size() == tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) CHECK(at::equal(best.model[i].tensor, tensors[i].tensor));
  CHECK(report.state.metrics.at("validation/loss") == report.best->value);
}

TEST_CASE("a metric that cannot be monitored is refused before training") {
  CHECK(contains(refusal_of({make_overrides({"checkpoint.monitor=\"validation/acuracy\""})}),
                 "checkpoint.monitor is \"validation/acuracy\", which this run does not log; expected a metric of its "
                 "history; did you mean \"validation/accuracy\"?"));
  CHECK(
      contains(refusal_of({make_overrides({"checkpoint.monitor=\"train/loss\""})}), "which exists only for training"));
  CHECK(contains(refusal_of({make_overrides({"checkpoint.monitor=\"\"", "checkpoint.load_best_at_end=true"})}),
                 "checkpoint.load_best_at_end is true, but no metric is monitored"));
}

TEST_CASE("a signal that requests a checkpoint gets one after the step, and training continues") {
  BuiltRun run({make_overrides({"checkpoint.monitor=\"\""})});
  run.save_signal = true;
  const RunReport report = run.train();
  CHECK(report.end == RunReport::End::finished);
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{1, 8});
  CHECK_FALSE(run.save_signal);
}
