// Tests the warnings that a run prints before its first step.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

namespace run_warnings_test {

using namespace tenon::end_to_end;

namespace {

const std::string kRunFile = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

std::vector<std::string> arguments_with(const std::vector<std::string>& settings) {
  std::vector<std::string> arguments{"--config", kRunFile,
                                     "--set",    "train={steps=1}",
                                     "--set",    "run.output_dir=\"" + make_empty_folder("runs").string() + "\""};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t place = text.find(part); place != text.npos; place = text.find(part, place + 1)) ++found;
  return found;
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
    std::vector<std::string> arguments = arguments_with(kSettings);
    arguments.push_back(more);
    const Outcome outcome = run_host(arguments);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    for (const std::string& warning : kWarnings) {
      CAPTURE(warning);
      CHECK(count(outcome.errors, warning) == 1);
    }
    CHECK(count(outcome.errors, "warning: ") == kWarnings.size());
  }
}

TEST_CASE("a run that cannot number its classes ends before its first step, with any number of processes") {
  for (const char* processes : {"--processes=1", "--processes=2"}) {
    std::vector<std::string> arguments = arguments_with({"model.params.classes=3"});
    arguments.push_back(processes);
    const Outcome outcome = run_host(arguments);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.errors.find("expected 10: set model.params.classes = 10") != std::string::npos);
    CHECK(outcome.errors.find("warning: ") == std::string::npos);
    CHECK(outcome.output.find("epoch") == std::string::npos);
  }
}

TEST_CASE("the classes of an output that the model does not declare are counted in the first batch") {
  std::vector<std::string> arguments = arguments_with({"model={use=\"undeclared\",params={outputs=12}}"});
  arguments.insert(arguments.end(), {"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/undeclared"});
  const Outcome outcome = run_host(arguments);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(count(outcome.errors, "has 12 classes, but the label of train has 10") == 1);
}

TEST_CASE("host lr-find and host overfit report settings that make their results useless, before their first step") {
  const auto command = [](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {name, "--config", kRunFile});
    return run_host(more);
  };
  const std::vector<std::string> large{"--set", "model.params.classes=1000", "--set", "data.batch_size=1500", "--steps",
                                       "2"};
  const Outcome found = command("lr-find", large);
  CAPTURE(found.errors);
  CHECK(found.exit_code == 0);
  CHECK(count(found.errors, kWarnings[0]) == 1);
  CHECK(count(found.errors, kWarnings[2]) == 1);
  CHECK(count(found.errors, "warning: ") == 2);
  // It uses few samples on purpose.
  const Outcome overfitted = command(
      "overfit", {"--set", "model.params.classes=1000", "--samples", "2000", "--steps", "1", "--threshold", "100"});
  CAPTURE(overfitted.errors);
  CHECK(overfitted.exit_code == 0);
  CHECK(count(overfitted.errors, kWarnings[0]) == 1);
  CHECK(count(overfitted.errors, "warning: ") == 1);
  for (const char* name : {"lr-find", "overfit"}) {
    const Outcome refused = command(name, {"--set", "model.params.classes=3"});
    CAPTURE(refused.errors);
    CHECK(refused.exit_code == 2);
    CHECK(refused.errors.find("expected 10: set model.params.classes = 10") != std::string::npos);
  }
}

TEST_CASE("an error that every process finds is printed once") {
  const auto check_once = [](const std::vector<std::string>& settings, int exit_code, const std::string& message) {
    std::vector<std::string> arguments = arguments_with(settings);
    arguments.push_back("--processes=3");
    const Outcome outcome = run_host(arguments);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == exit_code);
    CHECK(count(outcome.errors, message) == 1);
    CHECK(count(outcome.errors, "error: ") == 1);
  };
  check_once({"model.params.classes=3"}, 2, "expected 10: set model.params.classes = 10");
  check_once({"data.train.use=\"digitz\""}, 2, "did you mean \"digits\"?");
  check_once({"model.params.hidden=3"}, 2, "expected a list of integers");
  check_once({"data.train={use=\"idx\",params={images=\"nowhere\"}}"}, 4, "nowhere");
}

TEST_CASE("parameters that no loss depends on are named after the first step, unless they are frozen") {
  std::vector<std::string> arguments = arguments_with({"model={use=\"idle_layer\"}"});
  arguments.insert(arguments.end(), {"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/idle_layer"});
  const Outcome outcome = run_host(arguments);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.find("no loss depends on 2 parameters (idle.weight, idle.bias) in step 1") != std::string::npos);

  arguments.insert(arguments.end(), {"--set", "optimizer.group=[{match=[\"idle.*\"],frozen=true}]"});
  const Outcome frozen = run_host(arguments);
  CAPTURE(frozen.errors);
  CHECK(frozen.exit_code == 0);
  CHECK(frozen.errors.find("no loss depends") == std::string::npos);
}

TEST_CASE("a loss that has no items in the first epoch is named, and a run without any item fails") {
  const std::string data = "data.train={use=\"synthetic\",params={samples=64,channels=1,height=8,width=8,classes=1}}";
  const std::string ignoring = "{use=\"cross_entropy\",name=\"ignoring\",params={ignore_index=0}}";
  const std::string message = ": the loss ignoring had no items in epoch 1: its weight was 0 in every batch";
  for (const char* processes : {"--processes=1", "--processes=2"}) {
    CAPTURE(processes);
    std::vector<std::string> arguments =
        arguments_with({data, "data.batch_size=16", "train={epochs=2}", "model.params.classes=10"});
    arguments.push_back(processes);
    std::vector<std::string> both = arguments;
    both.insert(both.end(), {"--set", "loss=[{use=\"cross_entropy\"}," + ignoring + "]"});
    const Outcome warned = run_host(both);
    CAPTURE(warned.errors);
    CHECK(warned.exit_code == 0);
    CHECK(count(warned.errors, "warning: " + kRunFile) == 0);
    CHECK(count(warned.errors, message) == 1);

    arguments.insert(arguments.end(), {"--set", "loss=[" + ignoring + "]"});
    const Outcome failed = run_host(arguments);
    CAPTURE(failed.errors);
    CHECK(failed.exit_code == 7);
    CHECK(count(failed.errors, message) == 1);
    CHECK(failed.errors.find("no loss depends") == std::string::npos);
  }
}

}  // namespace run_warnings_test
