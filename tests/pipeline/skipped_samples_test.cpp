// Runs over data with samples that cannot be read.
#include "framework/data/feed.h"

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::support::ErrorKind;

namespace {

// 40 samples in 5 batches, in dataset order.
Setup over(const std::string& broken, const std::vector<std::string>& more) {
  return {join_settings({"data.batch_size=8", "data.validation_batch_size=16", "data.shuffle=false",
                         "data.train={use='torn', params={broken=[" + broken + "]}}",
                         "data.validation={use='torn', params={broken=[5]}}"},
                        more)};
}

}  // namespace

TEST_CASE("a sample that cannot be read ends the run by default") {
  const std::string error = error_of_training(ErrorKind::data, over("3", {}));
  CHECK(error.find("3.png is cut off") != std::string::npos);
  CHECK(error.ends_with("; host data --config FILE --all lists every sample that cannot be read"));
}

TEST_CASE("skipped samples are counted in every epoch and validation") {
  BuiltRun run(over("3, 17, 18", {"data.on_error=skip"}));
  const RunReport report = run.train();
  CHECK(report.state.step == 10);
  CHECK(report.state.samples_in_epoch == 37);
  for (const RecordedLine& line : run.recorder.of_kind(LineKind::epoch)) CHECK(line.at("train/skipped_samples") == 3);
  const auto validations = run.recorder.of_kind(LineKind::validation);
  REQUIRE(validations.size() == 2);
  for (const RecordedLine& line : validations) {
    CHECK(line.at("validation/skipped_samples") == 1);
    const double correct = line.at("validation/accuracy") * 39;
    CHECK(correct == doctest::Approx(std::round(correct)));
  }
}

// Batches 0, 2 and 4 of each epoch: at the beginning, in the middle and at the end.
TEST_CASE("a batch without readable samples is not a step, and epochs still end regularly") {
  std::string broken;
  for (int i = 0; i < 40; ++i)
    if (i / 8 % 2 == 0) broken += (broken.empty() ? "" : ", ") + std::to_string(i);
  BuiltRun run(over(broken, {"data.on_error=skip", "log.every='1 step'", "train.epochs=3"}));
  const RunReport report = run.train();
  CHECK(report.end == RunReport::End::finished);
  CHECK(report.state.epoch == 3);
  CHECK(report.state.step == 6);
  CHECK(report.state.samples_in_epoch == 16);
  CHECK(run.recorder.of_kind(LineKind::epoch).size() == 3);
  CHECK(run.recorder.of_kind(LineKind::validation).size() == 3);
  std::vector<int64_t> logged;
  for (const RecordedLine& line : run.recorder.of_kind(LineKind::step)) logged.push_back(line.step);
  CHECK(logged == std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{2, 4, 6});
}

TEST_CASE("a run limited by steps completes them, even if it needs more epochs") {
  BuiltRun run(over("0, 1, 2, 3, 4, 5, 6, 7", {"data.on_error=skip", "train={steps=10}"}));
  const RunReport report = run.train();
  CHECK(report.state.step == 10);
  CHECK(report.state.epoch == 3);
}

TEST_CASE("a run without readable samples ends") {
  std::string all = "0";
  for (int i = 1; i < 40; ++i) all += ", " + std::to_string(i);
  const std::string error = error_of_training(ErrorKind::data, over(all, {"data.on_error=skip"}));
  CHECK(error.find("train: none of its 40 samples could be read") == 0);
  const std::string of_validation = error_of_training(
      ErrorKind::data, over("", {"data.on_error=skip", "data.validation.params={broken=[" + all + "]}"}));
  CHECK(of_validation.find("validation: none of its 40 samples could be read") == 0);
}
