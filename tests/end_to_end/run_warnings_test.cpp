// Tests the warnings that a run prints before its first step.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"

namespace run_warnings_test {

using namespace tenon::end_to_end;
using tenon::count_parts;

namespace {

const std::string kRunFile = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

std::vector<std::string> arguments_with(const std::vector<std::string>& settings) {
  std::vector<std::string> arguments{"--config", kRunFile,
                                     "--set",    "train={steps=1}",
                                     "--set",    "run.output_dir=\"" + make_empty_folder("runs").string() + "\""};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

const std::vector<std::string> kWarnings{
    "configs/digits_mlp.toml:7:7: the output logits of model \"mlp\" of plugin mlp 0.1.0 has 1000 classes, but the "
    "label of train has 10, so the others are never right; expected 10: set model.params.classes = 10",
    "validation has samples of the training data (", ", but train has 1438 samples, so each epoch is one short batch"};

const std::vector<std::string> kSettings{"model.params.classes=1000", "data.batch_size=1500",
                                         "data.validation.params.split=\"train\""};

}  // namespace

TEST_CASE("a run warns once about settings that make its results useless, before its first step") {
  for (const char* more : {"--check", "--processes=1", "--processes=2"}) {
    CAPTURE(more);
    const Outcome outcome = require_success(run_host(joined(arguments_with(kSettings), {more})));
    for (const std::string& warning : kWarnings) {
      CAPTURE(warning);
      CHECK(count_parts(outcome.errors, warning) == 1);
    }
    CHECK(count_parts(outcome.errors, "warning: ") == kWarnings.size());
  }
}

TEST_CASE("a run that cannot number its classes ends before its first step, with any number of processes") {
  for (const char* processes : {"--processes=1", "--processes=2"}) {
    const Outcome outcome = run_host(joined(arguments_with({"model.params.classes=3"}), {processes}));
    check_errors(outcome, 2, {"expected 10: set model.params.classes = 10"});
    CHECK(outcome.errors.find("warning: ") == std::string::npos);
    CHECK(outcome.output.find("epoch") == std::string::npos);
  }
}

TEST_CASE("the classes of an output that the model does not declare are counted in the first batch") {
  const Outcome outcome =
      require_success(run_host(joined(arguments_with({"model={use=\"undeclared\",params={outputs=12}}"}),
                                      {"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/undeclared"})));
  CHECK(count_parts(outcome.errors, "has 12 classes, but the label of train has 10") == 1);
}

TEST_CASE("host lr-find and host overfit report settings that make their results useless, before their first step") {
  const auto command = [](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {name, "--config", kRunFile});
    return run_host(more);
  };
  const std::vector<std::string> large{"--set", "model.params.classes=1000", "--set", "data.batch_size=1500", "--steps",
                                       "2"};
  const Outcome found = require_success(command("lr-find", large));
  CHECK(count_parts(found.errors, kWarnings[0]) == 1);
  CHECK(count_parts(found.errors, kWarnings[2]) == 1);
  CHECK(count_parts(found.errors, "warning: ") == 2);
  // It uses few samples on purpose.
  const Outcome overfitted = require_success(command(
      "overfit", {"--set", "model.params.classes=1000", "--samples", "2000", "--steps", "1", "--threshold", "100"}));
  CHECK(count_parts(overfitted.errors, kWarnings[0]) == 1);
  CHECK(count_parts(overfitted.errors, "warning: ") == 1);
  for (const char* name : {"lr-find", "overfit"}) {
    check_errors(command(name, {"--set", "model.params.classes=3"}), 2, {"expected 10: set model.params.classes = 10"});
  }
}

TEST_CASE("an error that every process finds is printed once") {
  const auto check_once = [](const std::vector<std::string>& settings, int exit_code, const std::string& message) {
    const Outcome outcome = run_host(joined(arguments_with(settings), {"--processes=3"}));
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == exit_code);
    CHECK(count_parts(outcome.errors, message) == 1);
    CHECK(count_parts(outcome.errors, "error: ") == 1);
  };
  check_once({"model.params.classes=3"}, 2, "expected 10: set model.params.classes = 10");
  check_once({"data.train.use=\"digitz\""}, 2, "did you mean \"digits\"?");
  check_once({"model.params.hidden=3"}, 2, "expected a list of integers");
  check_once({"data.train={use=\"arrays\",params={path=\"nowhere\"}}"}, 4, "nowhere");
}

TEST_CASE("parameters that no loss depends on are named after the first step, unless they are frozen") {
  std::vector<std::string> arguments = joined(arguments_with({"model={use=\"idle_layer\"}"}),
                                              {"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/idle_layer"});
  const Outcome outcome = require_success(run_host(arguments));
  CHECK(outcome.errors.find("no loss depends on 2 parameters (idle.weight, idle.bias) in step 1") != std::string::npos);

  arguments.insert(arguments.end(), {"--set", "optimizer.group=[{match=[\"idle.*\"],frozen=true}]"});
  const Outcome frozen = require_success(run_host(arguments));
  CHECK(frozen.errors.find("no loss depends") == std::string::npos);
}

TEST_CASE("a loss that has no items in the first epoch is named, and a run without any item fails") {
  const std::string data = "data.train={use=\"synthetic\",params={samples=64,channels=1,height=8,width=8,classes=1}}";
  const std::string ignoring = "{use=\"cross_entropy\",name=\"ignoring\",params={ignore_index=0}}";
  const std::string message = ": the loss ignoring had no items in epoch 1: its weight was 0 in every batch";
  for (const char* processes : {"--processes=1", "--processes=2"}) {
    CAPTURE(processes);
    std::vector<std::string> arguments = joined(
        arguments_with({data, "data.batch_size=16", "train={epochs=2}", "model.params.classes=10"}), {processes});
    const Outcome warned =
        require_success(run_host(joined(arguments, {"--set", "loss=[{use=\"cross_entropy\"}," + ignoring + "]"})));
    CHECK(count_parts(warned.errors, "warning: " + kRunFile) == 0);
    CHECK(count_parts(warned.errors, message) == 1);

    arguments.insert(arguments.end(), {"--set", "loss=[" + ignoring + "]"});
    const Outcome failed = run_host(arguments);
    CAPTURE(failed.errors);
    CHECK(failed.exit_code == 7);
    CHECK(count_parts(failed.errors, message) == 1);
    CHECK(failed.errors.find("no loss depends") == std::string::npos);
  }
}

}  // namespace run_warnings_test
