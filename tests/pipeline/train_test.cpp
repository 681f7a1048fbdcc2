#include "framework/pipeline/loop/train.h"

#include <csignal>
#include <set>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::support::ErrorKind;

namespace {

std::map<std::string, at::Tensor> weights_after(const Setup& setup) {
  BuiltRun run(setup);
  run.train();
  return run.recorder.weights;
}

bool are_equal(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a)
    if (!b.contains(name) || !torch::equal(tensor, b.at(name))) return false;
  return true;
}

}  // namespace

TEST_CASE("a run of epochs uses every sample once per epoch, including the smaller last batch") {
  BuiltRun run({});
  const RunReport report = run.train();
  CHECK(report.end == RunReport::End::finished);
  CHECK(report.state.step == 8);  // 1438 samples in batches of 400: 4 steps per epoch
  CHECK(report.state.epoch == 2);
  CHECK(report.state.samples_in_epoch == 1438);
}

TEST_CASE("a run of steps ends in the middle of an epoch") {
  BuiltRun run({{"train={steps=5}"}});
  const RunReport report = run.train();
  CHECK(report.state.step == 5);
  CHECK(report.state.epoch == 2);
}

TEST_CASE("training lowers the loss and validation counts every sample") {
  BuiltRun run({{"train.epochs=20", "optimizer={use=\"adamw\",lr=0.01}"}});
  run.train();
  const auto epochs = run.recorder.of_kind(LineKind::epoch);
  const auto validations = run.recorder.of_kind(LineKind::validation);
  REQUIRE(epochs.size() == 20);
  REQUIRE(validations.size() == 20);
  CHECK(epochs.back().at("train/loss") < 0.5 * epochs.front().at("train/loss"));
  const double correct = validations.back().at("validation/accuracy") * 359;
  CHECK(correct == doctest::Approx(std::round(correct)));
  CHECK(validations.back().at("validation/accuracy") > 0.9);
}

TEST_CASE("the same run gives the same bits, for any number of workers") {
  const auto first = weights_after({{"run.deterministic=true"}});
  CHECK(are_equal(first, weights_after({{"run.deterministic=true"}})));
  CHECK(are_equal(first, weights_after({{"run.deterministic=true", "data.workers=0"}})));
  CHECK(are_equal(first, weights_after({{"run.deterministic=true", "data.workers=7", "data.prefetch=3"}})));
}

TEST_CASE("another seed gives another run, and shuffling matters") {
  const auto first = weights_after({});
  CHECK_FALSE(are_equal(first, weights_after({{"run.seed=1"}})));
  CHECK_FALSE(are_equal(first, weights_after({{"data.shuffle=false"}})));
}

TEST_CASE("lines are logged when due, with the mean since the last line") {
  BuiltRun every_step({{"log.every=\"1 step\"", "data.shuffle=false"}});
  every_step.train();
  BuiltRun every_fourth({{"log.every=\"4 steps\"", "data.shuffle=false"}});
  every_fourth.train();
  const auto steps = every_step.recorder.of_kind(LineKind::step);
  const auto fourths = every_fourth.recorder.of_kind(LineKind::step);
  REQUIRE(steps.size() == 8);
  REQUIRE(fourths.size() == 2);
  const double mean = (400 * (steps[0].at("train/loss") + steps[1].at("train/loss") + steps[2].at("train/loss")) +
                       238 * steps[3].at("train/loss")) /
                      1438;
  CHECK(fourths[0].at("train/loss") == doctest::Approx(mean).epsilon(1e-12));
  CHECK(every_fourth.recorder.of_kind(LineKind::epoch)[0].at("train/loss") == doctest::Approx(mean).epsilon(1e-12));
}

TEST_CASE("validations and checkpoints run when due, with a checkpoint at the end") {
  BuiltRun run({{"validation={every=\"3 steps\",at_start=true}", "checkpoint={every=\"5 steps\",monitor=\"\"}"}});
  run.train();
  std::vector<int64_t> validated;
  for (const RecordedLine& line : run.recorder.of_kind(LineKind::validation)) validated.push_back(line.step);
  CHECK(validated == std::vector<int64_t>{0, 3, 6, 8});  // the final validation is of the last weights
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{5, 8});
}

TEST_CASE("validations after parts of an epoch choose the best checkpoint, and callbacks see them") {
  // 15 batches and 8 steps in an epoch.
  BuiltRun run({{"data.batch_size=100", "train.accumulate=2", "validation.every=\"0.25 epochs\"",
                 "checkpoint={every=\"never\",keep_best=10}"}});
  run.train();
  std::vector<int64_t> validated;
  for (const RecordedLine& line : run.recorder.of_kind(LineKind::validation)) validated.push_back(line.step);
  CHECK(validated == std::vector<int64_t>{2, 4, 6, 8, 10, 12, 14, 16});
  REQUIRE(!run.recorder.checkpoint_steps.empty());
  CHECK(run.recorder.checkpoint_steps.front() == 2);  // the first validation is the best so far

  BuiltRun parts({{"checkpoint={every=\"0.5 epochs\",monitor=\"\"}"}});
  parts.train();
  CHECK(parts.recorder.checkpoint_steps == std::vector<int64_t>{2, 4, 6, 8});

  BuiltRun stopped({{"validation.every=\"0.25 epochs\"", "train.epochs=10"},
                    "[[callback]]\nuse = \"early_stopping\"\nparams = { patience = 3, min_delta = 10.0 }\n"});
  CHECK(stopped.train().state.step == 4);  // the first validation is the best
}

TEST_CASE("requests of a callback are handled after the step, and its reason is reported") {
  BuiltRun run(
      {{"validation.every=\"never\"", "log.every=\"never\""},
       "[[callback]]\nuse = \"stopping\"\nparams = { save_at = 2, evaluate_at = 3, log_at = 4, stop_at = 6 }\n"});
  const RunReport report = run.train();
  CHECK(report.end == RunReport::End::stopped);
  CHECK(report.reason == "stopping: step 6 is done");
  CHECK(report.state.step == 6);
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{2, 4, 6});  // on request, end of epoch, end of run
  REQUIRE(run.recorder.of_kind(LineKind::validation).size() == 1);
  CHECK(run.recorder.of_kind(LineKind::validation)[0].step == 3);
  REQUIRE(run.recorder.of_kind(LineKind::step).size() == 1);
  CHECK(run.recorder.of_kind(LineKind::step)[0].step == 4);
}

TEST_CASE("a signal ends the run after the current step, with a checkpoint") {
  BuiltRun run({});
  const RunReport report = run.train({}, SIGTERM);
  CHECK(report.end == RunReport::End::stopped);
  CHECK(report.signal == SIGTERM);
  CHECK(report.state.step == 1);
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{1});
}

TEST_CASE("a loss that is not finite ends the run before the weights change") {
  const std::string message = error_of_training(ErrorKind::non_finite, {{"optimizer.lr=1e30"}});
  CHECK(message.find("the loss cross_entropy is ") != std::string::npos);
  CHECK(message.find("in step ") != std::string::npos);
}

TEST_CASE("a failed run saves a checkpoint of the last step if its weights are finite") {
  struct Failing final : Observer {
    bool subscribes(Event event) const override { return event == Event::step_end; }
    void on_event(Event, const RunState& state, CallbackRequests&) override {
      if (state.step == 3) throw tenon::support::Error(tenon::support::ErrorKind::plugin, "step 3 failed");
    }
  } failing;
  BuiltRun run({{"checkpoint.every=\"never\""}});
  CHECK_THROWS_WITH(run.train({&failing}), "step 3 failed");
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{3});
}

TEST_CASE("weights that are not finite are refused instead of saved") {
  BuiltRun run({{"optimizer.lr=1e39", "train={steps=1}", "validation.every=\"never\""}});
  CHECK(tenon::contains(tenon::find_error(ErrorKind::non_finite, [&] { run.train(); }),
                        "holds NaN or infinity after step 1"));
  CHECK(run.recorder.checkpoint_steps.empty());
}

TEST_CASE("scalars of callbacks are in the next line, with the last value of each name") {
  struct Logging final : Observer {
    bool subscribes(Event event) const override { return event == Event::step_end || event == Event::epoch_end; }
    void on_event(Event event, const RunState& state, CallbackRequests& requests) override {
      requests.scalars[event == Event::step_end ? "mine/step" : "mine/epoch"] = static_cast<double>(state.step);
    }
  } logging;
  BuiltRun run({{"log.every=\"2 steps\"", "validation.every=\"never\"", "train={steps=5}"}});
  run.train({&logging});
  const auto steps = run.recorder.of_kind(LineKind::step);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].at("mine/step") == 2);
  CHECK(steps[1].at("mine/step") == 4);
  const auto epochs = run.recorder.of_kind(LineKind::epoch);
  REQUIRE(epochs.size() == 2);
  CHECK(epochs[0].at("mine/epoch") == 4);
  CHECK(epochs[1].at("mine/epoch") == 5);
  CHECK(epochs[1].at("mine/step") == 5);
}

TEST_CASE("a name that the history already uses is refused before training") {
  for (const std::string name : {"loss", "learning_rate"})
    CHECK(refusal_of({{}, "[[loss]]\nuse = \"cross_entropy\"\nname = \"" + name + "\"\n"})
              .find("give the loss another") != std::string::npos);
}

TEST_CASE("a stop requested in the last step leaves the run finished") {
  BuiltRun run(
      {{"train={steps=6}"},
       "[[callback]]\nuse = \"stopping\"\nparams = { stop_at = 6, save_at = 0, evaluate_at = 0, log_at = 0 }\n"});
  CHECK(run.train().end == RunReport::End::finished);
}

TEST_CASE("several losses are added with their factors and logged separately") {
  BuiltRun run(
      {{"log.every=\"1 step\"", "train={steps=1}"},
       "[[loss]]\nuse = \"cross_entropy\"\nname = \"smoothed\"\nweight = 0.5\nparams = { label_smoothing = 0.1 }\n"});
  run.train();
  const RecordedLine line = run.recorder.of_kind(LineKind::step)[0];
  CHECK(line.at("train/loss") ==
        doctest::Approx(line.at("train/cross_entropy") + 0.5 * line.at("train/smoothed")).epsilon(1e-12));
}

TEST_CASE("several validation sets are evaluated under separate names") {
  BuiltRun run(
      {{"data.validation={test={use=\"digits\",params={split=\"test\"}},seen={use=\"digits\",params={split=\"train\"}}"
        "}",
        "train={steps=4}"}});
  run.train();
  const auto lines = run.recorder.of_kind(LineKind::validation);
  REQUIRE(lines.size() == 2);
  std::set<std::string> names;
  for (const RecordedLine& line : lines)
    for (const auto& [name, value] : line.metrics) names.insert(name);
  CHECK(names.contains("validation/test/accuracy"));
  CHECK(names.contains("validation/seen/accuracy"));
}

TEST_CASE("a precision that the device does not support is refused before training") {
  CHECK_THROWS_WITH_AS(
      BuiltRun({{"train.precision=\"tf32\""}}),
      doctest::Contains(
          "train.precision is \"tf32\", which requires a CUDA device; expected on the CPU one of \"fp32\", "
          "\"bf16\", \"bf16_true\", \"fp16\" (which is slow there)"),
      tenon::support::Error);
}

TEST_CASE("bfloat16 autocast and bfloat16 weights train about as well as float32") {
  const std::vector<std::string> twenty{"train.epochs=20", "optimizer={use=\"adamw\",lr=0.01}"};
  for (const char* precision : {"bf16", "bf16_true", "fp16"}) {
    BuiltRun run({join_settings(twenty, {std::string("train.precision=\"") + precision + '"'})});
    run.train();
    CHECK(run.recorder.of_kind(LineKind::validation).back().at("validation/accuracy") > 0.9);
    const bool is_true = std::string(precision) == "bf16_true";
    CHECK(run.recorder.weights.at("layers.0.weight").scalar_type() == (is_true ? at::kBFloat16 : at::kFloat));
  }
}

TEST_CASE("channels_last changes results only by rounding and does not change checkpoints") {
  const std::vector<std::string> cnn{"model={use=\"small_cnn\",params={width=8}}", "train={steps=2}"};
  const Setup last{join_settings(cnn, {"train.memory_format=\"channels_last\""})};
  const auto plain = weights_after({cnn});
  for (const auto& weights : weights_after(last)) {
    INFO(weights.first);
    CHECK(torch::allclose(weights.second, plain.at(weights.first), 1e-3, 1e-5));
  }
}

TEST_CASE("averaged weights follow the update rule and are evaluated and saved") {
  // Saved after every step, the weights without an average are the ones that enter the average.
  struct Weights final : Observer {
    explicit Weights(BuiltRun& run) : run_(run) {}
    bool subscribes(Event event) const override { return event == Event::step_end; }
    void on_event(Event, const RunState&, CallbackRequests&) override {
      steps.push_back(run_.training->model.tensors()[0].tensor.detach().clone());
    }
    BuiltRun& run_;
    std::vector<at::Tensor> steps;
  };
  for (const char* average : {"{use=\"ema\",decay=0.75}", "{use=\"swa\",every=\"1 step\"}",
                              "{use=\"ema\",decay=0.75,start=\"2 steps\"}", "{use=\"ema\",decay=0.25,warm_up=true}"}) {
    BuiltRun run({{"train={steps=5,average=" + std::string(average) + "}"}});
    Weights weights(run);
    run.train({&weights});
    const bool is_ema = std::string(average).find("ema") != std::string::npos;
    const bool warms_up = std::string(average).find("warm_up") != std::string::npos;
    const size_t first = std::string(average).find("start") != std::string::npos ? 2 : 0;
    at::Tensor expected = weights.steps[first].clone();
    for (size_t i = first + 1; i < 5; ++i) {
      const auto updates = static_cast<double>(i - first);
      double share = is_ema ? 0.25 : 1 / (updates + 1);
      if (warms_up) share = 1 - std::min(0.25, (1 + updates) / (10 + updates));
      expected = expected.lerp(weights.steps[i], share);
    }
    CHECK(torch::equal(run.recorder.weights.at("layers.0.weight"), expected));
    CHECK_FALSE(torch::equal(run.recorder.weights.at("layers.0.weight"), weights.steps.back()));
    // Training continued with the unaveraged weights.
    CHECK(torch::equal(run.training->model.tensors()[0].tensor.detach(), weights.steps.back()));
  }
}
