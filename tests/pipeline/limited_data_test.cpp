// Epochs and validations over a part of the data: [data] limit_batches, and a dataset's subset.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

TEST_CASE("a limited epoch ends after the given number of batches, and the run after its epochs") {
  BuiltRun run({{"data.limit_batches=3", "schedule.use=one_cycle"}});
  CHECK(run.training->total_steps == 6);
  const RunReport report = run.train();
  CHECK(report.end == RunReport::End::finished);
  CHECK(report.state.step == 6);
  CHECK(report.state.epoch == 2);
  CHECK(report.state.steps_per_epoch == 3);
  CHECK(report.state.samples_in_epoch == 1200);
  CHECK(run.recorder.of_kind(LineKind::epoch).size() == 2);
  CHECK(run.recorder.of_kind(LineKind::validation).size() == 2);
  // The schedule reaches its end with the last step.
  CHECK(report.state.learning_rate == doctest::Approx(0.1 / 25 / 1e4));
}

TEST_CASE("a limit beyond the data changes nothing") {
  BuiltRun run({{"data.limit_batches=1000000000", "data.validation_limit_batches=1000000000"}});
  CHECK(run.train().state.step == 8);
  CHECK(run.training->validation.at(0)->feed.sampler().size() == 359);
}

TEST_CASE("a limited validation counts only the samples of its batches") {
  BuiltRun run({{"data.validation_batch_size=50", "data.validation_limit_batches=2"}});
  run.train();
  CHECK(run.training->validation.at(0)->feed.batches() == 2);
  // Not the first 100, which may all be of one class.
  CHECK(run.training->validation.at(0)->feed.sampler().order(0) == tenon::data::spread_places(359, 100));
  for (const RecordedLine& line : run.recorder.of_kind(LineKind::validation)) {
    const double correct = line.at("validation/accuracy") * 100;
    CHECK(correct == doctest::Approx(std::round(correct)));
  }
}

TEST_CASE("training and validation use disjoint parts of one dataset") {
  BuiltRun run(
      {{"data.train.subset='80%'", "data.validation={use='digits', subset='80%-100%'}", "data.subset_seed=5"}});
  const std::vector<int64_t> trained = run.training->train->feed.sampler().order(1);
  const std::vector<int64_t> validated = run.training->validation.at(0)->feed.sampler().order(0);
  CHECK(trained.size() == 1150);  // of 1438
  CHECK(validated.size() == 288);
  std::set<int64_t> all(trained.begin(), trained.end());
  all.insert(validated.begin(), validated.end());
  CHECK(all.size() == 1438);
  CHECK(run.train().state.samples_in_epoch == 1150);
  CHECK(run.recorder.of_kind(LineKind::validation).size() == 2);

  const BuiltRun other({{"data.train.subset='80%'", "data.subset_seed=6"}});
  CHECK(other.training->train->feed.sampler().order(1) != trained);
}

TEST_CASE("an empty subset is refused") {
  const std::string message = refusal_of({{"data.validation.subset='0.001%'"}});
  CHECK(message.find(": the subset 0.001% of 359 samples is empty; expected at least one sample") != message.npos);
}

TEST_CASE("drop_last leaves the smaller last batch of an epoch out") {
  BuiltRun run({{"data.drop_last=true"}});
  CHECK(run.training->total_steps == 6);  // 1438 samples in batches of 400
  const RunReport report = run.train();
  CHECK(report.state.step == 6);
  CHECK(report.state.samples_in_epoch == 1200);
  CHECK(run.training->validation.at(0)->feed.sampler().size() == 359);  // validations have every sample
}

TEST_CASE("drop_last without a full batch is refused") {
  const std::string message = refusal_of({{"data.drop_last=true", "data.batch_size=1439"}});
  CHECK(message.find(": data.drop_last is true, but there are only 1438 samples; expected at least one batch of "
                     "data.batch_size = 1439: lower data.batch_size, or set data.drop_last = false") != message.npos);
  // An empty subset has another message.
  CHECK(refusal_of({{"data.drop_last=true", "data.train.subset='0.001%'"}}).find("is empty") != std::string::npos);
}

TEST_CASE("folds divide the data into disjoint parts with the same shares of each label") {
  std::set<int64_t> validated;
  for (const int fold : {0, 1, 2}) {
    CAPTURE(fold);
    BuiltRun run({{"data.validation={use='digits'}",
                   "data.folds={count=3, stratify='label', fold=" + std::to_string(fold) + "}"}});
    const std::vector<int64_t> trained = run.training->train->feed.sampler().order(1);
    const std::vector<int64_t> others = run.training->validation.at(0)->feed.sampler().order(0);
    CHECK(trained.size() + others.size() == 1438);
    CHECK(std::abs(static_cast<int64_t>(others.size()) - 479) <= 1);
    std::set<int64_t> all(trained.begin(), trained.end());
    all.insert(others.begin(), others.end());
    CHECK(all.size() == 1438);
    validated.insert(others.begin(), others.end());
    if (fold == 0) CHECK(run.train().state.samples_in_epoch == static_cast<int64_t>(trained.size()));
  }
  CHECK(validated.size() == 1438);  // each sample in one fold
}

TEST_CASE("folds are within the subset, and resume with the samples that they had") {
  const std::vector<std::string> overrides{"data.validation={use='digits', subset='50%'}", "data.train.subset='50%'",
                                           "data.folds={count=4, fold=3}", "data.limit_batches=1"};
  BuiltRun run({overrides});
  CHECK(run.training->train->feed.sampler().available() == 540);  // of 719
  CHECK(run.training->validation.at(0)->feed.sampler().available() == 179);
  std::vector<int64_t> both = run.training->train->feed.sampler().samples();
  const std::vector<int64_t>& others = run.training->validation.at(0)->feed.sampler().samples();
  both.insert(both.end(), others.begin(), others.end());
  std::ranges::sort(both);
  CHECK(both == tenon::data::subset_samples(1438, {0, tenon::config::Subset::kWhole / 2}, 0));
}

TEST_CASE("folds that cannot be made are refused") {
  const std::string like = "data.validation={use='digits'}";
  CHECK(refusal_of({{like, "data.folds={count=3, stratify='image'}"}})
            .find("data.folds.stratify is \"image\"; expected a field of") != std::string::npos);
  CHECK(refusal_of({{like, "data.folds={count=3, group='labels'}"}})
            .find("with one integer for each sample: it has \"label\"") != std::string::npos);
  CHECK(refusal_of({{like, "data.folds={count=20, group='label'}"}})
            .find("data.folds.count is 20, but train has 10 groups; expected at least one in each fold: use fewer") !=
        std::string::npos);
  CHECK(refusal_of({{"data.folds={count=3}"}})
            .find("data.folds divides the samples of [data.train] and [data.validation], but the first has 1438 "
                  "samples and the second 359; expected the same samples") != std::string::npos);
}
