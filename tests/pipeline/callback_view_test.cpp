// Tests what a callback's tenon_run shows at each event, and the names of the parts of a loss.
#include <filesystem>
#include <fstream>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;

namespace {

// The output of the fixture `reporting` in a run of two epochs of four steps.
std::vector<std::string> report_of(const std::string& fail_at) {
  const std::filesystem::path file = tenon::test_folder() / "report.txt";
  std::filesystem::remove(file);
  BuiltRun run({{},
                "[[callback]]\nuse = \"reporting\"\nparams = { file = \"" + file.string() + "\", fail_at = " + fail_at +
                    " }\n"});
  if (fail_at == "0")
    run.train();
  else
    CHECK_THROWS_AS(run.train(), tenon::support::Error);
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool has(const std::vector<std::string>& lines, const std::string& expected) {
  return std::find(lines.begin(), lines.end(), expected) != lines.end();
}

}  // namespace

TEST_CASE("a callback sees the loss of the last step and the name of the validation set") {
  const std::vector<std::string> lines = report_of("0");
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.front() == "run_setup step 0 loss none set '' batch 0 of 0 folder '/recorded' error ''");
  CHECK(has(lines, "step_end step 1 loss finite set '' batch 0 of 0 folder '/recorded' error ''"));
  CHECK(has(lines, "validation_start step 4 loss finite set 'validation' batch 0 of 1 folder '/recorded' error ''"));
  CHECK(
      has(lines, "validation_batch_end step 4 loss finite set 'validation' batch 1 of 1 folder '/recorded' error ''"));
  CHECK(has(lines, "validation_end step 4 loss finite set '' batch 0 of 0 folder '/recorded' error ''"));
}

TEST_CASE("a callback receives the error when the run fails") {
  const std::vector<std::string> lines = report_of("3");
  const auto failed = std::find_if(lines.begin(), lines.end(),
                                   [](const std::string& line) { return line.rfind("run_exception", 0) == 0; });
  REQUIRE(failed != lines.end());
  CHECK(failed->find("callback \"reporting\" of plugin reporting 0.1.0, on_event (step_end, step 3): "
                     "the requested failure") != std::string::npos);
}

TEST_CASE("the parts of a loss are metrics under its name, from the batches that have them") {
  BuiltRun run({{"loss=[{use=\"two_parts\"}]"}, ""});
  run.train();
  const auto epochs = run.recorder.of_kind(LineKind::epoch);
  REQUIRE(epochs.size() == 2);
  const double entropy = epochs[1].at("train/two_parts.entropy");
  const double penalty = epochs[1].at("train/two_parts.even_steps");
  CHECK(entropy > 0);
  CHECK(penalty > 0);
  CHECK(epochs[1].at("train/loss") > entropy);
  const auto validations = run.recorder.of_kind(LineKind::validation);
  REQUIRE_FALSE(validations.empty());
  CHECK(validations.back().at("validation/two_parts.entropy") > 0);
}

TEST_CASE("early_stopping derives from the metric that a higher accuracy is better") {
  BuiltRun run(
      {{"train.epochs=3", "optimizer={use='adamw', lr=0.01}"},
       "[[callback]]\nuse = \"early_stopping\"\nparams = { monitor = \"validation/accuracy\", patience = 1 }\n"});
  const RunReport report = run.train();
  const auto validations = run.recorder.of_kind(LineKind::validation);
  REQUIRE(validations.size() == 3);  // none of them stopped the run, because each was better than the previous one
  for (size_t i = 1; i < validations.size(); ++i)
    CHECK(validations[i].at("validation/accuracy") > validations[i - 1].at("validation/accuracy"));
  CHECK(report.end == RunReport::End::finished);
}
