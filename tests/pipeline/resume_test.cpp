// Tests that a resumed run is bitwise equal to an uninterrupted one, from each of its checkpoints.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

struct Case {
  const char* name;
  std::vector<std::string> overrides;
  std::string more = {};
};

// 143 samples in batches of 40: four steps per epoch, or two and a half with two batches per step.
Setup make_setup(const Case& one) {
  return {join_settings({"run.deterministic=true", "data.workers=0", "data.batch_size=40", "data.train.subset=\"10%\"",
                         "data.validation.subset=\"20%\"", "train.epochs=3", "validation.every=\"2 steps\"",
                         "checkpoint.every=\"1 step\"", "log.every=\"3 steps\""},
                        one.overrides),
          one.more};
}

bool has_same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.nbytes() == 0 ||
          std::memcmp(a.contiguous().const_data_ptr(), b.contiguous().const_data_ptr(), a.nbytes()) == 0);
}

bool is_same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string names_missing_in(const std::map<std::string, double>& numbers,
                             const std::map<std::string, double>& expected) {
  std::string missing;
  for (const auto& [name, number] : expected)
    if (!numbers.contains(name)) missing += name + " ";
  return missing;
}

void check_same(const Checkpoint& one, const Checkpoint& other) {
  REQUIRE(one.model.size() == other.model.size());
  for (size_t i = 0; i < one.model.size(); ++i) {
    CAPTURE(one.model[i].name);
    CHECK(has_same_bits(one.model[i].tensor, other.model[i].tensor));
  }
  REQUIRE(one.state.tensors.size() == other.state.tensors.size());
  for (const auto& entry : one.state.tensors) {
    const std::string& name = entry.first;
    CAPTURE(name);
    REQUIRE(other.state.tensors.contains(name));
    // The state of a callback's filter contains a time.
    if (name.find(".callback.") == std::string::npos) CHECK(has_same_bits(entry.second, other.state.tensors.at(name)));
  }
  CHECK(names_missing_in(other.state.numbers, one.state.numbers) == "");
  REQUIRE(names_missing_in(one.state.numbers, other.state.numbers) == "");
  for (const auto& entry : one.state.numbers) {
    const std::string& name = entry.first;
    CAPTURE(name);
    if (!name.ends_with("_s")) CHECK(is_same_number(entry.second, other.state.numbers.at(name)));
  }
}

void check_same(const std::vector<RecordedLine>& whole, const std::vector<RecordedLine>& end) {
  REQUIRE(end.size() <= whole.size());
  for (size_t i = 0; i < end.size(); ++i) {
    const RecordedLine& expected = whole[whole.size() - end.size() + i];
    CAPTURE(i);
    CHECK(end[i].kind == expected.kind);
    CHECK(end[i].epoch == expected.epoch);
    CHECK(end[i].step == expected.step);
    REQUIRE(end[i].metrics.size() == expected.metrics.size());
    for (size_t k = 0; k < end[i].metrics.size(); ++k) {
      CAPTURE(expected.metrics[k].first);
      CHECK(end[i].metrics[k].first == expected.metrics[k].first);
      CHECK(is_same_number(end[i].metrics[k].second, expected.metrics[k].second));
    }
  }
}

void check_every_checkpoint(const Case& one, size_t stride = 1) {
  CAPTURE(one.name);
  BuiltRun whole(make_setup(one));
  const RunReport report = whole.train();
  REQUIRE(whole.recorder.checkpoints.size() > 4);
  for (size_t i = 0; i < whole.recorder.checkpoints.size(); i += stride) {
    CAPTURE(whole.recorder.checkpoint_steps[i]);
    BuiltRun resumed(make_setup(one));
    const RunReport end = resumed.train({}, 0, &whole.recorder.checkpoints[i]);
    CHECK(end.state.step == report.state.step);
    CHECK(end.state.epoch == report.state.epoch);
    CHECK(end.reason == report.reason);
    check_same(whole.recorder.lines, resumed.recorder.lines);
    if (i + 1 == whole.recorder.checkpoints.size()) continue;  // nothing was left to do
    REQUIRE(!resumed.recorder.checkpoints.empty());
    check_same(whole.recorder.checkpoints.back(), resumed.recorder.checkpoints.back());
  }
}

// One with sums and one that keeps a row for each sample.
const std::string kTrainMetrics =
    "metric=[{use=\"accuracy\",on=[\"train\",\"validation\"]},{use=\"roc_auc\",params={classes=10},on=[\"train\"]}]";

const std::string kStopping = "[[callback]]\nuse = \"early_stopping\"\nparams = { patience = 6, min_delta = 10.0 }\n";

}  // namespace

TEST_CASE("a run resumes exactly from any of its checkpoints") {
  check_every_checkpoint({"momentum", {"optimizer={use=\"sgd\",lr=0.1,momentum=0.9}"}});
  check_every_checkpoint({"steps of two batches, averaged weights, bf16",
                          {"optimizer={use=\"adamw\",lr=0.01}", "train.accumulate=2", "train.precision=\"bf16\"",
                           "train.average={use=\"ema\",decay=0.5}"}});
  check_every_checkpoint(
      {"dropout, batch statistics, mixed batches",
       {"model={use=\"segmented\"}", "data.batch_transform=[{use=\"mix\",label=\"label\",classes=10}]"}},
      3);
  check_every_checkpoint(
      {"a schedule with a memory",
       {"schedule={use=\"reduce_on_plateau\",monitor=\"validation/loss\",patience=0,threshold=0.5}"}});
  check_every_checkpoint({"the mean of weights from the second epoch on, clipped",
                          {"train.clip_norm=0.5", "train.average={use=\"swa\",start=\"1 epoch\",every=\"1 step\"}"}});
  check_every_checkpoint(
      {"schedule-free, with a warm-up, two batches per step and layers that are frozen first",
       {"optimizer={use=\"schedule_free_adamw\",lr=0.01,group=[{match=[\"*bias\"],frozen_epochs=1}]}",
        "schedule.warmup_steps=3", "train.accumulate=2"}});
  check_every_checkpoint(
      {"schedule-free, fp16", {"optimizer={use=\"schedule_free_adamw\",lr=0.01}", "train.precision=\"fp16\""}});
  check_every_checkpoint({"metrics over the training data", {kTrainMetrics}});
  check_every_checkpoint({"samples that occur three times in an epoch, with different numbers",
                          {"data.train={use=\"noise\"}", "data.validation={use=\"noise\"}",
                           "data.repeated_augmentation=3", "data.batch_size=4", "data.train.subset=\"50%\""}},
                         2);
  check_every_checkpoint({"validations after parts of an epoch of two batches per step, the last one dropped",
                          {"validation.every=\"0.3 epochs\"", "train.accumulate=2", "data.drop_last=true"}},
                         2);
}

TEST_CASE("a resumed run leaves out the same samples") {
  check_every_checkpoint({"samples that cannot be read",
                          {"data.train={use=\"torn\",params={broken=[3,7,11,20,30]}}", "data.validation={use=\"torn\"}",
                           "data.batch_size=4", "data.validation_batch_size=4", "data.on_error=\"skip\""}},
                         4);
}

TEST_CASE("a callback resumes with its state") {
  check_every_checkpoint({"patience that is half used up", {"validation.every=\"1 step\""}, kStopping});
}

TEST_CASE("the number of workers may change") {
  const Case one{"", {}};
  BuiltRun whole(make_setup(one));
  whole.train();
  for (const char* workers : {"data.workers=1", "data.workers=3"}) {
    BuiltRun resumed(make_setup({"", {workers}}));
    resumed.train({}, 0, &whole.recorder.checkpoints[4]);
    check_same(whole.recorder.checkpoints.back(), resumed.recorder.checkpoints.back());
  }
}

TEST_CASE("a run with unreadable data resumes once the data are readable") {
  const std::vector<std::string> settings{"checkpoint.every=\"never\"", "checkpoint.monitor=\"\"", "data.batch_size=4"};
  const auto make = [&](const std::string& train) {
    return make_setup({"", join_settings(settings, {"data.train=" + train})});
  };
  BuiltRun whole(make("{use=\"torn\"}"));
  whole.train();
  BuiltRun failed(make("{use=\"torn\",params={broken=[30]}}"));
  CHECK_THROWS_AS(failed.train(), tenon::support::Error);
  REQUIRE(failed.recorder.checkpoints.size() == 1);
  REQUIRE(failed.recorder.checkpoint_steps[0] > 1);
  BuiltRun resumed(make("{use=\"torn\"}"));
  resumed.train({}, 0, &failed.recorder.checkpoints[0]);
  check_same(whole.recorder.checkpoints.back(), resumed.recorder.checkpoints.back());
}

TEST_CASE("a run stopped by a signal resumes where it was") {
  BuiltRun whole(make_setup({"", {"checkpoint.every=\"never\""}}));
  whole.train();
  BuiltRun stopped(make_setup({"", {"checkpoint.every=\"never\""}}));
  stopped.train({}, 15);
  REQUIRE(stopped.recorder.checkpoints.size() == 1);
  REQUIRE(stopped.recorder.checkpoint_steps[0] == 1);
  BuiltRun resumed(make_setup({"", {"checkpoint.every=\"never\""}}));
  resumed.train({}, 0, &stopped.recorder.checkpoints[0]);
  check_same(whole.recorder.checkpoints.back(), resumed.recorder.checkpoints.back());
}

// Sends a signal with the event of this number.
struct Interrupting final : Observer {
  explicit Interrupting(int64_t event) : left(event) {}
  bool subscribes(Event event) const override { return event != Event::run_teardown; }
  void on_event(Event, const RunState&, CallbackRequests&) override {
    if (left-- == 0) signal = 15;
  }
  int64_t left;
  std::atomic<int> signal{0};
};

TEST_CASE("a signal at any event changes neither the weights nor the history of the resumed run") {
  const Case one{"",
                 {"checkpoint.every=\"never\"", "validation.every=\"1 step\"", "train.epochs=2",
                  "schedule={use=\"reduce_on_plateau\",monitor=\"validation/loss\",patience=0,threshold=0.5}"}};
  const auto is_checkpoint = [](const RecordedLine& line) { return line.kind == LineKind::checkpoint; };
  BuiltRun whole(make_setup(one));
  Interrupting never(std::numeric_limits<int64_t>::max());
  whole.train({&never});
  const int64_t events = std::numeric_limits<int64_t>::max() - never.left;
  for (int64_t event = 0; event < events; ++event) {
    CAPTURE(event);
    BuiltRun stopped(make_setup(one)), resumed(make_setup(one));
    Interrupting interrupting(event);
    train(*stopped.training, {&interrupting}, stopped.recorder, {interrupting.signal, stopped.save_signal});
    // One that ended, perhaps without its last validation, is resumed as well.
    REQUIRE(stopped.recorder.checkpoints.size() > 0);
    resumed.train({}, 0, &stopped.recorder.checkpoints.back());
    // A resumed history continues after the checkpoint.
    std::vector<RecordedLine> expected = whole.recorder.lines, found = stopped.recorder.lines;
    found.erase(std::find_if(found.rbegin(), found.rend(), is_checkpoint).base(), found.end());
    found.insert(found.end(), resumed.recorder.lines.begin(), resumed.recorder.lines.end());
    std::erase_if(expected, is_checkpoint);
    std::erase_if(found, is_checkpoint);
    CHECK(found.size() == expected.size());
    check_same(expected, found);
    check_same(whole.recorder.checkpoints.back(), resumed.recorder.checkpoints.empty()
                                                      ? stopped.recorder.checkpoints.back()
                                                      : resumed.recorder.checkpoints.back());
  }
}

TEST_CASE("a checkpoint that does not match is refused with the name of the entry") {
  BuiltRun whole(make_setup({"", {}}));
  whole.train();
  const auto refusal_of = [](const Case& one, const Checkpoint& checkpoint) -> std::string {
    return tenon::find_error(
        tenon::support::ErrorKind::checkpoint, [&] { BuiltRun(make_setup(one)).train({}, 0, &checkpoint); }, "none");
  };
  Checkpoint checkpoint = whole.recorder.checkpoints[2];
  CHECK(refusal_of({"", {"model.params={hidden=[8]}"}}, checkpoint).find("has another shape or dtype") !=
        std::string::npos);
  CHECK(refusal_of({"", {"optimizer.momentum=0.9"}}, checkpoint) == "none");  // momentum starts at zero
  CHECK(refusal_of({"", {"train.average={use=\"ema\"}"}}, checkpoint).find("has no number average.count") !=
        std::string::npos);
  checkpoint.state.numbers.erase("step_in_epoch");
  CHECK(refusal_of({"", {}}, checkpoint).find("has no number step_in_epoch") != std::string::npos);
  checkpoint.model.pop_back();
  CHECK(refusal_of({"", {}}, checkpoint).find("is missing") != std::string::npos);
}

TEST_CASE("the time of an epoch continues in the run that resumes") {
  const Case one{"times", {"optimizer={use=\"sgd\",lr=0.1}"}};
  BuiltRun whole(make_setup(one));
  whole.train();
  const std::vector<Checkpoint>& checkpoints = whole.recorder.checkpoints;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    const SavedState& before = checkpoints[i].state;
    CAPTURE(before.count("step"));
    CHECK(before.number("epoch_start_s") <= before.number("time_s"));
    BuiltRun resumed(make_setup(one));
    const RunState end = resumed.train({}, 0, &checkpoints[i]).state;
    // A run that resumes in its last epoch has the same start of that epoch.
    if (before.count("epoch") == 3) CHECK(end.epoch_start_s == before.number("epoch_start_s"));
    if (before.count("epoch") == 3) CHECK(end.epoch_validation_s >= before.number("epoch_validation_s"));
  }
}
