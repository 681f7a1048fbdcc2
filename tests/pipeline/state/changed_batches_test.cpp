// Runs that resume with another batch size or number of batches per step. tests/ranks has other numbers of ranks.
#include <algorithm>
#include <map>
#include <set>

#include "framework/data/feed.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

// Weights that do not change, so that the loss of an epoch is a mean over its samples, whatever its steps. 143 samples
// in four batches of 40, with random pixels or not.
Setup setup_of_batches(const std::vector<std::string>& more) {
  return {join_settings({"run.deterministic=true", "data.workers=0", "data.batch_size=40", "data.train.subset=\"10%\"",
                         "data.validation.subset=\"20%\"", "train.epochs=3", "checkpoint.every=\"1 step\"",
                         "log.every=\"1 step\"", "optimizer.lr=1e-30",
                         "metric=[{use=\"accuracy\",on=[\"train\",\"validation\"]},"
                         "{use=\"roc_auc\",params={classes=10},on=[\"train\"]}]"},
                        more)};
}

const std::vector<std::string> kNoise{"data.train={use=\"noise\"}", "data.validation={use=\"noise\"}",
                                      "data.batch_size=4", "train.epochs=2"};

// Counts what the epochs have.
struct EpochCounts final : Observer {
  bool subscribes(Event event) const override { return event == Event::epoch_end || event == Event::step_end; }
  void on_event(Event event, const RunState& state, CallbackRequests&) override {
    if (event == Event::step_end) {
      last_step_in_epoch[state.epoch] = state.step_in_epoch;
      total_steps.insert(state.total_steps);
      return;
    }
    samples[state.epoch] += state.samples_in_epoch;
    ends.push_back(state.epoch);
  }
  std::map<int64_t, int64_t> samples, last_step_in_epoch;
  std::vector<int64_t> ends;
  std::set<int64_t> total_steps;
};

// The lines of the interrupted run up to the checkpoint, and those of the resumed one.
std::vector<RecordedLine> join_histories(const BuiltRun& whole, size_t checkpoint, const BuiltRun& resumed) {
  std::vector<RecordedLine> lines;
  for (const RecordedLine& line : whole.recorder.lines)
    if (line.step < whole.recorder.checkpoint_steps[checkpoint] ||
        (line.step == whole.recorder.checkpoint_steps[checkpoint] && line.kind == LineKind::step))
      lines.push_back(line);
  lines.insert(lines.end(), resumed.recorder.lines.begin(), resumed.recorder.lines.end());
  return lines;
}

std::vector<RecordedLine> lines_of_kind(const std::vector<RecordedLine>& lines, LineKind kind) {
  std::vector<RecordedLine> found;
  std::ranges::copy_if(lines, std::back_inserter(found), [&](const auto& line) { return line.kind == kind; });
  return found;
}

// Resumes from each checkpoint of one run with the batches of another one.
void check_changed(const std::vector<std::string>& before, const std::vector<std::string>& after, int64_t samples) {
  CAPTURE(after);
  BuiltRun whole(setup_of_batches(before));
  whole.train();
  const auto expected = whole.recorder.of_kind(LineKind::epoch);
  REQUIRE(expected.size() > 1);
  for (size_t i = 0; i < whole.recorder.checkpoints.size(); ++i) {
    CAPTURE(whole.recorder.checkpoint_steps[i]);
    BuiltRun resumed(setup_of_batches(join_settings(before, after)));
    EpochCounts counts;
    const RunReport end = resumed.train({&counts}, 0, &whole.recorder.checkpoints[i]);
    CHECK(end.state.epoch == static_cast<int64_t>(expected.size()));
    CHECK(end.state.total_epochs == static_cast<int64_t>(expected.size()));
    CHECK(end.state.step == end.state.total_steps);
    CHECK(counts.total_steps.size() <= 1);
    for (const auto& [epoch, count] : counts.samples) CHECK(count == samples);
    for (const auto& [epoch, step] : counts.last_step_in_epoch) CHECK(step == end.state.steps_per_epoch);
    const auto epochs = lines_of_kind(join_histories(whole, i, resumed), LineKind::epoch);
    REQUIRE(epochs.size() == expected.size());
    for (size_t k = 0; k < epochs.size(); ++k) {
      CHECK(epochs[k].epoch == static_cast<int64_t>(k + 1));
      CHECK(epochs[k].at("train/loss") == doctest::Approx(expected[k].at("train/loss")).epsilon(1e-6));
      CHECK(epochs[k].at("train/accuracy") == expected[k].at("train/accuracy"));
      CHECK(epochs[k].at("train/roc_auc") == doctest::Approx(expected[k].at("train/roc_auc")).epsilon(1e-12));
    }
  }
}

// The learning rates of the steps, in order.
std::vector<double> rates_of(const std::vector<RecordedLine>& lines) {
  std::vector<double> rates;
  for (const RecordedLine& line : lines_of_kind(lines, LineKind::step)) rates.push_back(line.at("train/learning_rate"));
  return rates;
}

}  // namespace

TEST_CASE("a run that resumes with other batches reads each remaining sample of the epoch once") {
  for (const std::string batch_size : {"13", "80", "500"}) check_changed({}, {"data.batch_size=" + batch_size}, 143);
  check_changed({}, {"train.accumulate=2"}, 143);
  check_changed({"train.accumulate=3", "data.batch_size=10"}, {"train.accumulate=2", "data.batch_size=16"}, 143);
  check_changed(kNoise, {"data.batch_size=7"}, 40);
  check_changed(join_settings(kNoise, {"data.repeated_augmentation=3"}), {"data.batch_size=6"}, 40);
}

TEST_CASE("samplers by weight and by length resume with other batches") {
  const std::vector<std::string> torn{"data.train={use=\"torn\",params={lighter=3}}", "data.validation={use=\"torn\"}",
                                      "data.batch_size=4", "train.epochs=2"};
  check_changed(join_settings(torn, {"data.sampler=\"weighted\""}), {"data.batch_size=6"}, 40);
  check_changed(join_settings(torn, {"data.sampler=\"length_bucketed\""}), {"data.batch_size=3"}, 40);
}

TEST_CASE("samples that cannot be read are counted once, if the batches change") {
  const std::vector<std::string> torn{"data.train={use=\"torn\",params={broken=[3,7,11,20,30]}}",
                                      "data.validation={use=\"torn\"}", "data.batch_size=4", "train.epochs=2",
                                      "data.on_error=\"skip\""};
  BuiltRun whole(setup_of_batches(torn));
  whole.train();
  for (const Checkpoint& checkpoint : whole.recorder.checkpoints) {
    BuiltRun resumed(setup_of_batches(join_settings(torn, {"data.batch_size=7"})));
    EpochCounts counts;
    resumed.train({&counts}, 0, &checkpoint);
    for (const auto& [epoch, count] : counts.samples) CHECK(count == 35);
    for (const RecordedLine& line : resumed.recorder.of_kind(LineKind::epoch))
      CHECK(line.at("train/skipped_samples") == 5);
  }
}

TEST_CASE("an epoch without a whole batch left is complete, if the last batch is dropped") {
  const std::vector<std::string> drops{"data.drop_last=true", "data.train.subset=\"10%\"", "train.epochs=2",
                                       "validation.every=\"1 epoch\"", "checkpoint.monitor=\"\""};
  BuiltRun whole(setup_of_batches(drops));  // three batches of 40
  whole.train();
  REQUIRE(whole.recorder.checkpoint_steps[1] == 2);
  BuiltRun resumed(setup_of_batches(join_settings(drops, {"data.batch_size=60"})));
  EpochCounts counts;
  const RunReport end = resumed.train({&counts}, 0, &whole.recorder.checkpoints[1]);
  CHECK(counts.samples == std::map<int64_t, int64_t>{{1, 80}, {2, 120}});
  CHECK(end.state.step == 4);
  CHECK(end.state.total_steps == 4);
  const auto validations = resumed.recorder.of_kind(LineKind::validation);
  REQUIRE(validations.size() == 2);
  CHECK(validations[0].step == 2);
  CHECK(validations[0].epoch == 1);
  CHECK(validations[1].step == 4);
}

TEST_CASE("a limited epoch does not get more batches") {
  const std::vector<std::string> limited{"data.batch_size=20", "data.limit_batches=5", "train.epochs=2"};
  BuiltRun whole(setup_of_batches(limited));
  whole.train();
  for (const auto& [batch_size, expected] :
       {std::pair("data.batch_size=10", 2 * 20 + 3 * 10), std::pair("data.batch_size=40", 2 * 20 + 40 + 20)}) {
    BuiltRun resumed(setup_of_batches(join_settings(limited, {batch_size})));
    EpochCounts counts;
    resumed.train({&counts}, 0, &whole.recorder.checkpoints[1]);
    CHECK(counts.samples[1] == expected);
  }
}

TEST_CASE("a schedule continues at the same part of the training, and ends with it") {
  const auto check = [](const std::string& schedule, const std::string& after, bool is_monotone) {
    CAPTURE(schedule);
    CAPTURE(after);
    const std::vector<std::string> settings{schedule, "data.batch_size=10", "optimizer.lr=1e-20"};  // 15 steps
    BuiltRun whole(setup_of_batches(settings));
    whole.train();
    const std::vector<double> expected = rates_of(whole.recorder.lines);
    for (size_t i = 0; i < whole.recorder.checkpoints.size(); i += 8) {
      CAPTURE(whole.recorder.checkpoint_steps[i]);
      BuiltRun resumed(setup_of_batches(join_settings(settings, {after})));
      resumed.train({}, 0, &whole.recorder.checkpoints[i]);
      const std::vector<double> rates = rates_of(resumed.recorder.lines);
      const auto done = static_cast<size_t>(whole.recorder.checkpoint_steps[i]);
      if (rates.empty()) continue;
      // The same rate as at the same part of the training, up to the length of a step before and after.
      const double limit = expected.size() > done + 1 ? 3e-20 * 3 / 45 : 1e-20;
      if (is_monotone) {
        CHECK(std::abs(rates.front() - expected[done]) <= limit);
        CHECK(std::is_sorted(rates.rbegin(), rates.rend()));
        CHECK(rates.front() <= expected[done - 1] + 1.01e-20 / 45);
      }
      for (const RecordedLine& line : resumed.recorder.of_kind(LineKind::epoch)) {
        const double rate = line.at("train/learning_rate");
        const double whole_rate =
            whole.recorder.of_kind(LineKind::epoch)[static_cast<size_t>(line.epoch - 1)].at("train/learning_rate");
        CHECK(std::abs(rate - whole_rate) <= 3e-20 * 3 / 45);
      }
    }
  };
  for (const std::string after : {"data.batch_size=5", "data.batch_size=30", "train.accumulate=2"}) {
    check("schedule={use=\"linear\",end_factor=0.0}", after, true);
    check("schedule={use=\"multi_step\",milestones=[\"1 epoch\",\"2 epochs\"]}", after, false);
    check("schedule={use=\"multi_step\",milestones=[\"15 steps\",\"30 steps\"]}", after, false);
  }
}

TEST_CASE("a run with a number of steps has this number of them, and their learning rates") {
  const std::vector<std::string> settings{"train={steps=20}", "data.batch_size=20",
                                          "schedule={use=\"linear\",length=\"2 epochs\"}"};
  BuiltRun whole(setup_of_batches(settings));
  whole.train();
  BuiltRun resumed(setup_of_batches(join_settings(settings, {"data.batch_size=10"})));
  const RunReport end = resumed.train({}, 0, &whole.recorder.checkpoints[9]);
  CHECK(end.state.step == 20);
  CHECK(end.state.total_steps == 20);
  CHECK(end.state.epoch == 2);
  CHECK(end.state.total_epochs == 2);
  const std::vector<double> expected = rates_of(whole.recorder.lines);
  CHECK(rates_of(resumed.recorder.lines) == std::vector<double>(expected.begin() + 10, expected.end()));
}

TEST_CASE("validations after parts of an epoch stay at these parts") {
  const std::vector<std::string> settings{"validation.every=\"0.25 epochs\"", "checkpoint.monitor=\"\"",
                                          "data.batch_size=6", "train.epochs=2"};
  BuiltRun whole(setup_of_batches(settings));
  whole.train();
  for (size_t i = 0; i < whole.recorder.checkpoints.size(); i += 2)
    for (const std::string batch_size : {"5", "9", "12"}) {
      CAPTURE(whole.recorder.checkpoint_steps[i]);
      CAPTURE(batch_size);
      BuiltRun resumed(setup_of_batches(join_settings(settings, {"data.batch_size=" + batch_size})));
      resumed.train({}, 0, &whole.recorder.checkpoints[i]);
      int64_t validations = static_cast<int64_t>(resumed.recorder.of_kind(LineKind::validation).size());
      const int64_t step = whole.recorder.checkpoint_steps[i];
      for (const RecordedLine& line : whole.recorder.of_kind(LineKind::validation)) validations += line.step <= step;
      CHECK(validations == 8);
    }
}

TEST_CASE("a run changes its batches several times in an epoch, and resumes exactly between the changes") {
  BuiltRun first(setup_of_batches({"data.batch_size=10"}));
  first.train();
  BuiltRun second(setup_of_batches({"data.batch_size=25"}));
  second.train({}, 0, &first.recorder.checkpoints[2]);
  const auto after_step = [](const BuiltRun& run, int64_t step) {
    const auto& steps = run.recorder.checkpoint_steps;
    return run.recorder.checkpoints.at(static_cast<size_t>(std::ranges::find(steps, step) - steps.begin()));
  };
  // Resumed with the batches of the interrupted run, in the epoch that was divided anew and in the next one.
  for (const int64_t step : {4, 6, 9}) {
    CAPTURE(step);
    BuiltRun again(setup_of_batches({"data.batch_size=25"}));
    const Checkpoint checkpoint = after_step(second, step);
    again.train({}, 0, &checkpoint);
    CHECK(again.recorder.checkpoints.back().state.numbers.size() ==
          second.recorder.checkpoints.back().state.numbers.size());
    check_same_weights(second, again);
    const auto lines = second.recorder.lines;
    REQUIRE(again.recorder.lines.size() <= lines.size());
    for (size_t i = 0; i < again.recorder.lines.size(); ++i) {
      const RecordedLine& expected = lines[lines.size() - again.recorder.lines.size() + i];
      CHECK(again.recorder.lines[i].metrics == expected.metrics);
      CHECK(again.recorder.lines[i].step == expected.step);
    }
  }
  const Checkpoint checkpoint = after_step(second, 5);  // 30 + 50 samples
  BuiltRun third(setup_of_batches({"data.batch_size=9"}));
  EpochCounts counts;
  third.train({&counts}, 0, &checkpoint);
  CHECK(counts.samples == std::map<int64_t, int64_t>{{1, 143}, {2, 143}, {3, 143}});
  const double loss = first.recorder.of_kind(LineKind::epoch)[0].at("train/loss");
  CHECK(third.recorder.of_kind(LineKind::epoch)[0].at("train/loss") == doctest::Approx(loss).epsilon(1e-6));
}

TEST_CASE("no two batches of an epoch share random numbers, if its batches change") {
  const BuiltRun run(setup_of_batches(kNoise));
  std::set<uint64_t> seeds;
  int64_t batches = 0;
  tenon::data::EpochRest rest;
  const auto read = [&](int64_t world, int64_t count) {
    for (int64_t rank = 0; rank < world; ++rank) {
      tenon::data::Feed feed(*run.catalogue, *run.plan, run.plan->data.train, {rank, world});
      feed.start(1, 0, 0, rest);
      for (int64_t i = 0; i < count && feed.next(); ++i, ++batches) seeds.insert(feed.batch_seed());
    }
    rest = tenon::data::rest_after(rest, count, 4, world);
  };
  read(3, 1);
  read(1, 3);
  read(2, 2);
  CHECK(batches == 10);
  CHECK(seeds.size() == 10);
}
