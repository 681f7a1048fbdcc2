// Tests of the test data: evaluated once, after training, with the best weights.
#include <algorithm>
#include <atomic>

#include "framework/pipeline/checks/check_run.h"
#include "framework/pipeline/evaluation/evaluate.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

const std::string kTest = "data.test={use='digits',params={split='test'},subset='50%-100%'}";
const std::string kValidation = "data.validation={use='digits',params={split='test'},subset='50%'}";

// Eight steps. The learning rate is so large that the best validation is not the last one.
Setup make_setup(const std::vector<std::string>& more, const std::string& tables = "", bool has_test = true) {
  std::vector<std::string> overrides{"data.workers=0",   "data.train.subset='10%'",   "data.batch_size=20",
                                     "train.epochs=1",   "validation.every='1 step'", "checkpoint.every='never'",
                                     "optimizer.lr=1.5", "run.deterministic=true",    kValidation};
  if (has_test) overrides.push_back(kTest);
  return {join_settings(overrides, more), tables};
}

using Metrics = std::vector<std::pair<std::string, double>>;

// The metrics of the test data with these weights, computed by another evaluation.
Metrics evaluate_with(const Setup& setup, const std::vector<tenon::optimization::NamedTensor>& weights) {
  BuiltRun run(setup);
  const tenon::components::Model& model = run.training->model;
  REQUIRE(weights.size() == model.tensors().size());
  {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < weights.size(); ++i) at::Tensor(model.tensors()[i].tensor).copy_(weights[i].tensor);
  }
  Metrics all;
  for (const auto& data : run.training->test) {
    const auto metrics = evaluate(*run.training, run.training->test_metrics, *data, {}, [](int64_t) { return true; });
    REQUIRE(metrics);
    all.insert(all.end(), metrics->begin(), metrics->end());
  }
  return all;
}

bool has_weights(const BuiltRun& run, const Checkpoint& checkpoint) {
  const auto& tensors = run.training->model.tensors();
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!at::equal(tensors[i].tensor, checkpoint.model[i].tensor)) return false;
  return true;
}

// Sees every event with the names of the metrics at that time. May raise a signal or request a stop.
class EventLog final : public Observer {
 public:
  bool subscribes(Event) const override { return true; }
  void on_event(Event event, const RunState& state, CallbackRequests& requests) override {
    std::string line = std::to_string(static_cast<int>(event)) + " " + state.validation_name;
    for (const auto& [name, value] : state.metrics) line += " " + name + " " + std::to_string(value);
    for (const auto& [name, direction] : state.directions) line += " " + name;
    seen.push_back(line);
    if (event == Event::checkpoint_after && state.step == signal_at) signal = 2;
    if (event == Event::step_end && state.step == stop_at) requests.stop = true;
  }

  std::vector<std::string> seen;
  int64_t signal_at = -1;
  int64_t stop_at = -1;
  std::atomic<int> signal{0};
};

// Trains with the signals of the event log.
RunReport train_logged(BuiltRun& run, EventLog& log, std::optional<Checkpoint> resumed = std::nullopt) {
  return train(*run.training, {&log}, run.recorder, {log.signal, run.save_signal}, std::move(resumed));
}

}  // namespace

TEST_CASE("the test data are evaluated once, with the best weights, and the model keeps its last ones") {
  const Setup setup = make_setup({});
  BuiltRun run(setup);
  const RunReport report = run.train();
  REQUIRE(report.best);
  REQUIRE(report.best->step < 8);
  REQUIRE(report.test);
  CHECK(report.test->step == report.best->step);
  CHECK(report.test->epoch == 1);
  CHECK(report.test->monitor == "validation/loss");
  const auto lines = run.recorder.of_kind(LineKind::test);
  REQUIRE(lines.size() == 1);
  CHECK(run.recorder.lines.back().kind == LineKind::test);
  CHECK(lines[0].step == 8);
  CHECK(lines[0].metrics == report.test->metrics);
  REQUIRE(lines[0].metrics.size() == 2);
  CHECK(lines[0].metrics[0].first == "test/loss");
  CHECK(lines[0].metrics[1].first == "test/accuracy");
  CHECK(evaluate_with(setup, run.recorder.read_best_checkpoint().model) == report.test->metrics);
  // The last weights have other metrics, and are still in the model.
  CHECK(evaluate_with(setup, run.recorder.checkpoints.back().model) != report.test->metrics);
  CHECK(has_weights(run, run.recorder.checkpoints.back()));
}

TEST_CASE("with load_best_at_end the values are the same, and the model has the best weights") {
  BuiltRun run(make_setup({}));
  const RunReport report = run.train();
  BuiltRun loads(make_setup({"checkpoint.load_best_at_end=true"}));
  const RunReport loaded = loads.train();
  REQUIRE(loaded.test);
  CHECK(loaded.test->metrics == report.test->metrics);
  CHECK(loaded.test->step == report.test->step);
  CHECK_FALSE(has_weights(loads, loads.recorder.checkpoints.back()));
}

TEST_CASE("without a monitored metric the last weights are tested, averaged if the run averages") {
  for (const std::string average : {"", "train.average={use='ema',decay=0.5}"}) {
    CAPTURE(average);
    std::vector<std::string> more{"checkpoint.monitor=''"};
    if (!average.empty()) more.push_back(average);
    const Setup setup = make_setup(more);
    BuiltRun run(setup);
    const RunReport report = run.train();
    REQUIRE(report.test);
    CHECK(report.test->monitor == "");
    CHECK(report.test->step == 8);
    CHECK(evaluate_with(setup, run.recorder.checkpoints.back().model) == report.test->metrics);
    CHECK(has_weights(run, run.recorder.checkpoints.back()) == average.empty());
  }
}

TEST_CASE("test data without validation data are evaluated") {
  Setup setup = make_setup({});
  std::erase(setup.overrides, kValidation);
  setup.overrides.insert(setup.overrides.end(), {"data.validation={use='digits'}", "validation.every='never'"});
  BuiltRun run(setup);
  const RunReport report = run.train();
  CHECK(run.recorder.of_kind(LineKind::validation).empty());
  REQUIRE(report.test);
  CHECK(report.test->metrics.size() == 2);
}

TEST_CASE("several test datasets have a line each, and a metric is computed where the file says") {
  const std::string metrics =
      "[[metric]]\nuse = \"accuracy\"\nname = \"tested\"\non = [\"test\"]\n"
      "[[metric]]\nuse = \"accuracy\"\nname = \"trained\"\non = [\"train\"]\n";
  Setup setup = make_setup({"data.test={a={use='digits',params={split='test'}},b={use='digits'}}"}, metrics, false);
  BuiltRun run(setup);
  const RunReport report = run.train();
  const auto lines = run.recorder.of_kind(LineKind::test);
  REQUIRE(lines.size() == 2);
  const auto names = [](const RecordedLine& line) {
    std::vector<std::string> all;
    for (const auto& [name, value] : line.metrics) all.push_back(name);
    return all;
  };
  CHECK(names(lines[0]) == std::vector<std::string>{"test/a/loss", "test/a/accuracy", "test/a/tested"});
  CHECK(names(lines[1]) == std::vector<std::string>{"test/b/loss", "test/b/accuracy", "test/b/tested"});
  CHECK(names(run.recorder.of_kind(LineKind::validation).front()) ==
        std::vector<std::string>{"validation/loss", "validation/accuracy"});
  CHECK(lines[0].at("test/a/tested") == lines[0].at("test/a/accuracy"));
  REQUIRE(report.test);
  CHECK(report.test->metrics.size() == 6);
}

TEST_CASE("every sample of the test data counts, and only test_limit_batches limits them") {
  BuiltRun whole(make_setup({"data.validation_limit_batches=1", "data.validation_batch_size=10"}));
  CHECK(whole.training->validation.front()->feed.batches() == 1);
  CHECK(whole.training->test.front()->feed.batches() == 18);  // the second half of 359 samples
  BuiltRun limited(make_setup({"data.test_limit_batches=2", "data.validation_batch_size=10"}));
  CHECK(limited.training->validation.front()->feed.batches() == 18);
  CHECK(limited.training->test.front()->feed.batches() == 2);
}

TEST_CASE("training and callbacks do not depend on the test data") {
  const auto train_once = [](bool has_test, EventLog& log) {
    auto run = std::make_unique<BuiltRun>(make_setup({"log.every='2 steps'"}, "", has_test));
    train_logged(*run, log);
    return run;
  };
  EventLog with, without;
  const auto tested = train_once(true, with), plain = train_once(false, without);
  CHECK(with.seen == without.seen);
  CHECK(tested->recorder.checkpoint_steps == plain->recorder.checkpoint_steps);
  check_same_weights(*plain, *tested);
  REQUIRE(tested->recorder.lines.size() == plain->recorder.lines.size() + 1);
  for (size_t i = 0; i < plain->recorder.lines.size(); ++i)
    CHECK(tested->recorder.lines[i].metrics == plain->recorder.lines[i].metrics);
}

TEST_CASE("a run that a callback stops is tested, and one that a signal stops is not") {
  BuiltRun stopped(make_setup({}));
  EventLog stops;
  stops.stop_at = 3;
  const RunReport report = train_logged(stopped, stops);
  CHECK(report.end == RunReport::End::stopped);
  CHECK(report.test.has_value());
  CHECK(stopped.recorder.of_kind(LineKind::test).size() == 1);
  BuiltRun interrupted(make_setup({}));
  const RunReport interruption = interrupted.train({}, 2);
  CHECK(interruption.signal == 2);
  CHECK_FALSE(interruption.test);
  CHECK(interrupted.recorder.of_kind(LineKind::test).empty());
}

TEST_CASE("a run that is resumed after its last step evaluates the test data once, with the same values") {
  for (const std::string monitor : {"validation/loss", ""}) {
    CAPTURE(monitor);
    const Setup setup = make_setup({"checkpoint.monitor='" + monitor + "'"});
    BuiltRun whole(setup);
    const RunReport expected = whole.train();
    // A signal arrives after the last checkpoint.
    BuiltRun first(setup);
    EventLog log;
    log.signal_at = 8;
    const RunReport interrupted = train_logged(first, log);
    CHECK(interrupted.end == RunReport::End::stopped);
    CHECK(interrupted.signal == 2);
    CHECK(interrupted.reason != "");
    CHECK_FALSE(interrupted.test);
    CHECK(first.recorder.of_kind(LineKind::test).empty());
    REQUIRE(first.recorder.checkpoint_steps.back() == 8);
    const Checkpoint last = first.recorder.checkpoints.back();
    for (int resumes = 0; resumes < 2; ++resumes) {
      BuiltRun second(setup);
      second.recorder = first.recorder;  // the checkpoints of the run
      second.recorder.lines.clear();
      const RunReport report = second.train({}, 0, &last);
      CHECK(report.end == RunReport::End::finished);
      REQUIRE(report.test);
      CHECK(report.test->metrics == expected.test->metrics);
      CHECK(report.test->step == expected.test->step);
      CHECK(second.recorder.of_kind(LineKind::test).size() == 1);
    }
  }
}

TEST_CASE("metrics of the test data cannot be monitored") {
  const auto refuse = [](const std::vector<std::string>& more, const std::string& tables, const std::string& message) {
    const std::string refusal = refusal_of(make_setup(more, tables));
    CHECK_MESSAGE(refusal.find(message) != refusal.npos, refusal);
    CHECK_MESSAGE(refusal.find("but the test data are evaluated once, after training; expected a metric of the "
                               "training or validation data, such as \"validation/") != refusal.npos,
                  refusal);
  };
  refuse({"checkpoint.monitor='test/accuracy'"}, "", "checkpoint.monitor is \"test/accuracy\"");
  refuse({}, "[schedule]\nuse = \"reduce_on_plateau\"\nmonitor = \"test/loss\"\n", "schedule.monitor is \"test/loss\"");
  refuse({}, "[[callback]]\nuse = \"early_stopping\"\nparams = { monitor = \"test/loss\" }\n",
         "early_stopping: params.monitor is \"test/loss\"");
}

TEST_CASE("test data with samples of the training data are warned about") {
  const auto count = [](const std::string& test) {
    const BuiltRun run(make_setup({test}, "", false));
    const std::vector<std::string> warnings = check_run(*run.training);
    return std::ranges::count_if(warnings, [](const std::string& warning) {
      return warning.find("test has samples of the training data") != warning.npos &&
             warning.ends_with("subset = \"80%\" for training and \"80%-100%\" for test");
    });
  };
  CHECK(count("data.test={use='digits'}") == 1);
  CHECK(count("data.test={use='digits',subset='10%-100%'}") == 0);
  CHECK(count(kTest) == 0);
}
