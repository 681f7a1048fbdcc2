// Tests the warnings that a run prints before its first step.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

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
