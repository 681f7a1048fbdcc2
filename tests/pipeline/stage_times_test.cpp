#include "framework/pipeline/state/stage_times.h"

#include <thread>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

using Clock = StageTimes::Clock;

double seconds_of(const std::vector<StageSeconds>& stages, const std::string& name) {
  for (const StageSeconds& stage : stages)
    if (stage.name == name) return stage.seconds;
  return 0;
}

// Waits until the clock has advanced. No test depends on the amount.
void pass_time() {
  const Clock::time_point start = Clock::now();
  while (Clock::now() - start < std::chrono::microseconds(50)) std::this_thread::yield();
}

class Sleeper final : public Observer {
 public:
  bool subscribes(Event event) const override { return event == Event::step_end; }
  std::string name() const override { return "callback sleeper"; }
  void on_event(Event, const RunState&, CallbackRequests&) override { pass_time(); }
};

}  // namespace

TEST_CASE("every moment belongs to exactly one stage") {
  const Clock::time_point start = Clock::now();
  StageTimes times;
  const Stage callback = times.add("callback mine");
  {
    const InStage validation(times, Stage::validation);
    pass_time();
    {
      const InStage data(times, callback);
      pass_time();
    }
    pass_time();
  }
  const std::vector<StageSeconds> stages = times.list();
  const double whole = std::chrono::duration<double>(Clock::now() - start).count();
  CHECK(seconds_of(stages, "validation") >= 100e-6);
  CHECK(seconds_of(stages, "callback mine") >= 50e-6);
  CHECK(seconds_of(stages, "checkpoint") == 0);
  double sum = 0;
  for (const StageSeconds& stage : stages) sum += stage.seconds;
  CHECK(sum <= whole);
  CHECK(times.seconds(Stage::validation) == seconds_of(stages, "validation"));
}

TEST_CASE("stages with the same name are combined") {
  StageTimes times;
  for (int i = 0; i < 2; ++i) {
    const InStage stage(times, times.add("callback throughput"));
    pass_time();
  }
  const std::vector<StageSeconds> stages = times.list();
  CHECK(seconds_of(stages, "callback throughput") >= 100e-6);
  CHECK(std::ranges::count(stages, "callback throughput", &StageSeconds::name) == 1);
}

TEST_CASE("a run reports all its stages by name") {
  BuiltRun run({{"log.every=\"1 step\"", "train.average={use=\"ema\"}"}});
  Sleeper sleeper;
  const RunReport report = run.train({&sleeper});
  for (const char* name : {"data", "transfer", "forward", "losses", "backward", "optimizer", "validation", "checkpoint",
                           "history", "callback sleeper"}) {
    CAPTURE(name);
    CHECK(seconds_of(report.stages, name) > 0);
  }
  CHECK(seconds_of(report.stages, "callback sleeper") >= 50e-6 * static_cast<double>(report.state.step));
  CHECK(report.state.data_wait_s > 0);
  CHECK(report.state.data_wait_s <= report.state.time_s);
}

TEST_CASE("advice is for the slowest stage, unless that is the model itself") {
  const auto advise_on = [](const std::string& stage, double seconds) {
    return advise({{"forward", 10 - seconds}, {stage, seconds}}, 2);
  };
  CHECK(advise_on("data", 1) == "");
  CHECK(advise_on("data", 4).find("waited for data 40 % of the time: raise data.workers (2)") != std::string::npos);
  CHECK(advise_on("validation", 4).find("raise validation.every") != std::string::npos);
  CHECK(advise_on("checkpoint", 4).find("raise checkpoint.every") != std::string::npos);
  CHECK(advise_on("history", 4).find("raise log.every") != std::string::npos);
  CHECK(advise_on("processes", 4).find("raise data.batch_size") != std::string::npos);
  CHECK(advise_on("callback slow", 4).find("the callback slow took 40 % of the time") != std::string::npos);
  CHECK(advise_on("backward", 9) == "");
  CHECK(advise({}, 2) == "");
}

TEST_CASE("the mean times of steps leave out what is paused, and each restart begins new ones") {
  StageTimes times;
  StepTimes steps(times);
  const double at_start = times.total();
  const auto seconds_of = [&](int64_t step, const std::string& name) {
    for (const auto& [known, value] : steps.read(step))
      if (known == name) return value;
    return -1.0;
  };
  CHECK(steps.read(0).empty());  // no step
  const auto pass_in = [&](Stage stage) {
    const InStage scope(times, stage);
    pass_time();
  };
  for (const Stage stage : {Stage::data, Stage::transfer, Stage::forward, Stage::losses, Stage::backward})
    pass_in(stage);
  pass_in(Stage::optimizer);
  const double before_pause_s = times.total() - at_start;
  {
    const StepTimes::Pause pause(steps);
    pass_in(Stage::validation);
    pass_in(times.add("callback mine"));
  }
  CHECK(seconds_of(2, "train/data_wait_s") == times.seconds(Stage::data) / 2);
  CHECK(seconds_of(2, "train/optimizer_s") == times.seconds(Stage::optimizer) / 2);
  CHECK(seconds_of(2, "train/forward_backward_s") >= 4 * 50e-6 / 2);
  CHECK(seconds_of(4, "train/data_wait_s") == times.seconds(Stage::data) / 4);
  const double both_s = 2 * seconds_of(2, "train/step_s");
  CHECK(both_s >= before_pause_s);
  CHECK(both_s <= times.total() - 2 * 50e-6);  // without the pause
  steps.restart(2);
  CHECK(steps.read(2).empty());
  pass_in(Stage::optimizer);
  CHECK(seconds_of(3, "train/data_wait_s") == 0);
  CHECK(seconds_of(3, "train/optimizer_s") >= 50e-6);
  for (const auto& [name, value] : steps.read(3)) CHECK(is_step_time(name));
  CHECK_FALSE(is_step_time("train/loss"));
}

TEST_CASE("each log line has the times of its steps, which are no metrics of the run") {
  BuiltRun run({{"log.every=\"2 steps\""}});
  const RunReport report = run.train();
  CHECK(run.recorder.step_times.size() == 4 * run.recorder.of_kind(LineKind::step).size());
  double step_s = 0, parts_s = 0;
  for (const auto& time : run.recorder.step_times) {
    const auto& name = time.first;
    const auto& value = time.second;
    CAPTURE(name);
    CHECK(value > 0);
    (name == "train/step_s" ? step_s : parts_s) += value;
    CHECK_FALSE(report.state.metrics.contains(name));
  }
  CHECK(parts_s < step_s);
}
