// Tests [data.test] through the host: the terminal, the files of the run, resuming, and the commands with --data.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using nlohmann::ordered_json;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

// The best validation is not the last one: the learning rate is far too large. Half of the digits for evaluation are
// for the validation, the other half for the test.
constexpr const char* kRunFile = R"([model]
use = "mlp"
params = { hidden = [16] }
[data]
batch_size = 32
[data.train]
use = "digits"
subset = "20%"
[data.validation]
use = "digits"
params = { split = "test" }
subset = "50%"
[data.test]
like = "validation"
subset = "50%-100%"
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[[metric]]
use = "accuracy"
name = "tested"
on = ["test"]
[train]
epochs = 4
[checkpoint]
monitor = "validation/accuracy"
[optimizer]
use = "sgd"
lr = 3.0
)";

// Runs the host with the run file. `output`: the folder of its runs.
Outcome run_in(const fs::path& output, std::vector<std::string> arguments) {
  const fs::path file = write_file(tenon::test_folder() / "held_out.toml", kRunFile);
  arguments.insert(arguments.end(), {"--config", file.string(), "--set", "run.output_dir=\"" + output.string() + "\""});
  return run_host(arguments);
}

// The run that the tests share.
struct TestedRun {
  TestedRun() : output(make_empty_folder("tested")), outcome(run_in(output, {})) {
    CAPTURE(outcome.errors);
    REQUIRE(outcome.exit_code == 0);
    folder = find_run_folder(output, "held_out");
    record = ordered_json::parse(read_file(folder / "run.json"));
  }

  fs::path output;
  Outcome outcome;
  fs::path folder;
  ordered_json record;
};

const TestedRun& tested() {
  static const TestedRun run;
  return run;
}

std::vector<ordered_json> lines_of(const std::string& text) {
  std::vector<ordered_json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(ordered_json::parse(line));
  return lines;
}

std::vector<ordered_json> test_lines(const fs::path& run) {
  std::vector<ordered_json> lines = lines_of(read_file(run / "history.jsonl"));
  std::erase_if(lines, [](const ordered_json& line) { return line["event"] != "test"; });
  return lines;
}

// Evaluates the run's test data with the command.
ordered_json evaluate(const std::string& checkpoint, const std::vector<std::string>& more = {}) {
  const Outcome outcome = require_success(
      run_in(tested().output, joined({"evaluate", "--data", "test", "--checkpoint", checkpoint, "--json"}, more)));
  return ordered_json::parse(outcome.output);
}

}  // namespace

TEST_CASE("a run evaluates the test data with its best weights and shows and records the metrics") {
  const TestedRun& run = tested();
  const ordered_json& test = run.record["test"];
  CHECK(test["weights"] == "best");
  CHECK(test["monitor"] == "validation/accuracy");
  REQUIRE(test["metrics"].size() == 3);
  CHECK(test["metrics"]["test/tested"] == test["metrics"]["test/accuracy"]);
  CHECK(run.record["directions"]["test/accuracy"] == "max");
  CHECK(run.record["directions"]["test/loss"] == "min");
  const std::string step = std::to_string(test["step"].get<int64_t>());
  CHECK(test["step"] < 36);  // the last step

  const auto lines = test_lines(run.folder);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["step"] == 36);
  for (const auto& [name, value] : test["metrics"].items()) CHECK(lines[0][name] == value);
  CHECK(lines[0].size() == 4 + test["metrics"].size());
  CHECK(contains(read_file(run.folder / "history.csv"), "test/accuracy"));

  const std::string& output = run.outcome.output;
  CHECK(contains(output, "\n  test         digits: 180 samples, 6 batches of 32\n"));
  const size_t at =
      output.find("\ntest with the best weights, of step " + step + ", by validation/accuracy\n  test/loss ");
  REQUIRE(at != output.npos);
  CHECK(contains(output.substr(at), "  test/accuracy "));
  CHECK(std::ranges::count(output.substr(at + 1), '\n') == 2);  // the last lines
}

TEST_CASE("host evaluate reproduces the metrics of the test data bit for bit from the best checkpoint") {
  const auto best = evaluate("best");
  CHECK(best["step"] == tested().record["test"]["step"]);
  CHECK(best["epoch"] == tested().record["test"]["epoch"]);
  REQUIRE(best["sets"].size() == 1);
  CHECK(best["sets"][0]["name"] == "test");
  CHECK(best["sets"][0]["samples"] == 180);
  CHECK(best["sets"][0]["metrics"] == tested().record["test"]["metrics"]);
  CHECK(evaluate("latest")["sets"][0]["metrics"] != tested().record["test"]["metrics"]);
  // Validation data have no metrics that are only for the test.
  const Outcome validation = require_success(run_in(tested().output, {"evaluate", "--json"}));
  CHECK(ordered_json::parse(validation.output)["sets"][0]["metrics"].size() == 2);
}

TEST_CASE("host predict and host data accept the test data") {
  const fs::path file = tenon::test_folder() / "test.csv";
  const Outcome predicted =
      run_in(tested().output, {"predict", "--data", "test", "--checkpoint", "best", "--output", file.string()});
  CHECK_MESSAGE(predicted.exit_code == 0, predicted.errors);
  CHECK(contains(predicted.output, "test: 180 samples in "));
  const Outcome data = run_in(tested().output, {"data", "--data", "test", "--seconds", "0"});
  CHECK_MESSAGE(data.exit_code == 0, data.errors);
  CHECK(contains(data.output, "test: digits"));
  CHECK(contains(data.output, "180 samples"));
  check_errors(run_in(tested().output, {"data", "--data", "tset"}), 2, {"--data is \"tset\"; did you mean \"test\"?"});
}

TEST_CASE("the report, the events file and host runs have the metrics of the test data") {
  const TestedRun& run = tested();
  const std::string step = std::to_string(run.record["test"]["step"].get<int64_t>());
  const std::string report = read_file(run.folder / "report.html");
  CHECK(contains(report, "<h2>Test</h2>"));
  CHECK(contains(report, "Weights: best, step " + step + ", by validation accuracy."));
  CHECK(contains(report, "<td>accuracy</td>"));
  CHECK_FALSE(fs::exists(run.folder / "plots/tested.svg"));  // one value is no curve
  std::string events;
  for (const auto& entry : fs::directory_iterator(run.folder))
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) events = read_file(entry.path());
  CHECK(contains(events, "test/accuracy"));
  const Outcome runs = require_success(run_host({"runs", run.output.string(), "--json"}));
  const auto all = ordered_json::parse(runs.output);
  CHECK(all["runs"][0]["metrics"]["test/accuracy"]["last"]["value"] == run.record["test"]["metrics"]["test/accuracy"]);
}

// run.json has the status `running` until the run ends.
TEST_CASE("a run that was killed after its last checkpoint evaluates the test data when it resumes") {
  const fs::path output = make_empty_folder("killed");
  require_success(run_in(output, {}));
  const fs::path folder = find_run_folder(output, "held_out");
  const auto expected = test_lines(folder);
  REQUIRE(expected.size() == 1);
  for (int resumes = 0; resumes < 2; ++resumes) {
    CAPTURE(resumes);
    ordered_json record = ordered_json::parse(read_file(folder / "run.json"));
    record["status"] = "running";
    record.erase("test");
    std::ofstream(folder / "run.json") << record.dump();
    require_success(run_in(output, {"--resume", "auto"}));
    const auto lines = test_lines(folder);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0]["test/loss"] == expected[0]["test/loss"]);
    CHECK(lines[0]["test/accuracy"] == expected[0]["test/accuracy"]);
    CHECK(ordered_json::parse(read_file(folder / "run.json"))["test"]["metrics"]["test/loss"] ==
          expected[0]["test/loss"]);
  }
  const Outcome finished = require_success(run_in(output, {"--resume", "latest"}));
  CHECK(contains(finished.output, "has finished: step 36 was its last step"));
}

TEST_CASE("JSON lines have the test, the last weights are named, and a run without test data has none") {
  const Outcome last = require_success(run_in(
      make_empty_folder("json"), {"--log-format", "json", "--set", "checkpoint.monitor=\"\"", "--limit-batches", "2"}));
  const auto lines = lines_of(last.output);
  const ordered_json& end = lines.back();
  CHECK(end["test"]["weights"] == "last");
  CHECK(end["test"]["monitor"].is_null());
  CHECK(end["test"]["step"] == 8);
  CHECK(lines[lines.size() - 2]["event"] == "test");
  CHECK(lines[lines.size() - 2]["test/loss"] == end["test"]["metrics"]["test/loss"]);
  CHECK_FALSE(end["metrics"].contains("test/loss"));
  const Outcome text = run_in(make_empty_folder("text"), {"--set", "checkpoint.monitor=\"\"", "--limit-batches", "2"});
  CHECK(contains(text.output, "\n  test         digits: 64 samples, 2 batches of 32\n"));
  CHECK(contains(text.output, "\ntest with the last weights, of step 8\n  test/loss "));
  const Outcome without = require_success(run_host(
      {"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--limit-batches", "2", "--set", "train.epochs=1",
       "--log-format", "json", "--set", "run.output_dir=\"" + make_empty_folder("without").string() + "\""}));
  CHECK(lines_of(without.output).back()["test"].is_null());
}

TEST_CASE("a dry run tries the test data too") {
  const Outcome dry = run_in(make_empty_folder("dry"), {"--dry-run"});
  CHECK_MESSAGE(dry.exit_code == 0, dry.errors);
  CHECK(contains(dry.output, "\n  test         digits: 32 samples, 1 batch of 32\n"));
  CHECK(contains(dry.output, "\ntest with the best weights, of step 1, by validation/accuracy\n"));
}
