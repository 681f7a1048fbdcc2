// Tests of `--set`, through read_run_config().
#include <doctest/doctest.h>

#include "tests/config/run_file.h"

namespace tenon::config {
namespace {

RunPlan plan_with(const std::vector<std::string>& overrides) { return plan_of(kShortRunFile, overrides); }
std::string error_with(const std::string& override_text) { return error_of(kShortRunFile, {override_text}); }

constexpr const char* kHowToWrite =
    "; write --set table.key=value, such as --set train.epochs=3 or --set loss.0.weight=2";

}  // namespace

TEST_CASE("an override replaces a value of the file") { CHECK(plan_with({"train.epochs=3"}).train.epochs == 3); }

TEST_CASE("the last override of a key applies") {
  CHECK(plan_with({"train.epochs=3", "train.epochs=4"}).train.epochs == 4);
}

TEST_CASE("an override creates missing tables") {
  CHECK(plan_with({"run.seed=7"}).run.seed == 7);
  CHECK(std::get<int64_t>(plan_with({"model.params.width=8"}).model.params.at("width")) == 8);
}

TEST_CASE("an override addresses a list of tables by index") {
  CHECK(plan_with({"loss.0.weight=2"}).losses.at(0).weight == 2.0);
}

TEST_CASE("the index after the last adds a table") {
  const auto plan = plan_with({"loss.1.use=cross_entropy", "loss.1.name=second", "callback.0.use=early_stopping"});
  CHECK(plan.losses.at(1).name == "second");
  CHECK(plan.callbacks.at(0).use == "early_stopping");
}

TEST_CASE("an override can replace a whole table, and so replace epochs by steps") {
  const auto plan = plan_with({"train={steps=100}"});
  CHECK(plan.train.steps == 100);
  CHECK(plan.train.epochs == 0);
}

TEST_CASE("the value of an override is TOML") {
  CHECK(plan_with({"run.name=\"a=b\""}).run.name == "a=b");
  CHECK(plan_with({"run.deterministic=true"}).run.deterministic == Determinism::on);
  CHECK(plan_with({"run.deterministic=warn"}).run.deterministic == Determinism::warn);
  CHECK(plan_with({"run.seed=0x10"}).run.seed == 16);
  CHECK(plan_with({"plugins.paths=['/a', '/b']"}).plugin_paths.size() == 2);
}

TEST_CASE("a value that is not TOML is a string, also one of several words") {
  CHECK(plan_with({"run.name=first-try"}).run.name == "first-try");
  CHECK(plan_with({"run.output_dir=/data/runs"}).run.output_dir == "/data/runs");
  CHECK(plan_with({"validation.every=10 steps"}).validation.every.count == 10);
}

TEST_CASE("a value with a line break cannot bring in other keys") {
  CHECK(error_with("train.epochs=3\nsteps = 4").find("expected an integer in [1, 4294967295]") != std::string::npos);
}

TEST_CASE("blanks around the key and the value are ignored") {
  CHECK(plan_with({"train.epochs = 3"}).train.epochs == 3);
  CHECK(plan_with({"run.name = my run "}).run.name == "my run");
}

TEST_CASE("a key without its table is suggested with it") {
  CHECK(error_with("lr=1") == "--set lr: lr is not a key of the run file; did you mean \"optimizer.lr\"?");
  CHECK(error_with("epochs=1") == "--set epochs: epochs is not a key of the run file; did you mean \"train.epochs\"?");
}

TEST_CASE("a wrong value is reported at its override") {
  CHECK(error_with("train.epochs=3x") ==
        "--set train.epochs: train.epochs is \"3x\"; expected an integer in [1, 4294967295]");
  CHECK(error_with("model.params={widht=3}") ==
        "--set model.params: model.params.widht is not a parameter of small_cnn; did you mean \"width\"?");
}

TEST_CASE("an unknown key is reported at its override") {
  CHECK(error_with("train.epoch=3") ==
        "--set train.epoch: train.epoch is not a key of train; did you mean \"epochs\"?");
}

TEST_CASE("the error of an override that is not key=value shows the syntax") {
  CHECK(error_with("train.epochs") == "--set train.epochs: has no value; write --set train.epochs=VALUE");
  for (const char* text : {"", "=3", ".epochs=3", "train.=3", "train..epochs=3", "train. epochs=3", "[train=3"}) {
    CAPTURE(text);
    CHECK(error_with(text).find("not a key and a value") != std::string::npos);
  }
}

TEST_CASE("an override that is not UTF-8 is refused, because the plan would not be TOML") {
  CHECK(error_with("run.name=caf\xE9") == "--set run.name: is not UTF-8; expected UTF-8, as in a run file");
  CHECK(error_with("run.caf\xE9=1") == "--set run.caf\xE9: is not UTF-8; expected UTF-8, as in a run file");
}

TEST_CASE("the error of an override with broken TOML shows the syntax") {
  CHECK(error_with("train.epochs=") ==
        std::string("--set train.epochs: train.epochs is ``, which is not a TOML value") + kHowToWrite);
  CHECK(error_with("train.epochs=[1") ==
        "--set train.epochs: train.epochs is `[1`, which is not a TOML value; a bracket is not closed: write --set "
        "'train.epochs=[1]'");
  for (const char* text : {"run.name=", "run.name=\"a", "run.name='a", "model={use"}) {
    CAPTURE(text);
    CHECK(error_with(text).find("which is not a TOML value") != std::string::npos);
  }
}

TEST_CASE("an override with an unknown path reports where the path ends") {
  CHECK(error_with("train.epochs.x=1") ==
        "--set train.epochs.x: train.epochs is 10, which has no key \"x\"; expected a table");
  CHECK(error_with("loss.3.weight=1") ==
        "--set loss.3.weight: loss has 1 element, but the index is \"3\"; expected an index from 0 to 1");
  CHECK(error_with("loss.2.weight=1").find("expected an index from 0 to 1") != std::string::npos);
  CHECK(error_with("loss.weight=1") ==
        "--set loss.weight: loss is a list with 1 element; expected an index from 0 to 1: write loss.0.weight");
  CHECK(error_with("loss.cross_entropy.weight=1").ends_with("write loss.0.weight"));
  CHECK(error_with("loss[0].weight=1") ==
        "--set loss[0].weight=1: has an index in brackets; write --set loss.0.weight=1");
}

TEST_CASE("errors of the file come before those of the overrides") {
  const std::string message =
      error_of(short_run_file_with("epochs = 10", "epochs = 0"), {"run.seed=-1", "x", "log.y=1"});
  CHECK(message.find("digits.toml:15:10: train.epochs is 0") == 0);
  CHECK(message.find("\n--set x: has no value") != message.npos);
  CHECK(message.find("\n--set run.seed: run.seed is -1") != message.npos);
  CHECK(message.find("\n--set log.y: log.y is not a key of log") != message.npos);
}

}  // namespace tenon::config
