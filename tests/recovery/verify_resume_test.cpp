// Tests host verify-resume.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::string kDigits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";

// The parent of its temporary folders.
fs::path temporary_folder() {
  const fs::path folder = tenon::test_folder() / "temporary";
  fs::create_directories(folder);
  return folder;
}

std::string with_temporary() { return "env TMPDIR=" + temporary_folder().string() + " "; }

Outcome verify(const std::vector<std::string>& more, const std::string& prefix = "") {
  std::vector<std::string> arguments{"verify-resume", "--config", kDigits, "--plugin-dir",
                                     TENON_BINARY_DIR "/tests/fixtures/plugins/forgetful"};
  for (const std::string setting : {"run.threads=1", "data.workers=0", "data.batch_size=16"})
    arguments.insert(arguments.end(), {"--set", setting});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_host(arguments, with_temporary() + prefix);
}

json verify_as_json(std::vector<std::string> more, int exit_code) {
  more.push_back("--json");
  const Outcome outcome = verify(more);
  CAPTURE(outcome.errors);
  CAPTURE(outcome.output);
  REQUIRE(outcome.exit_code == exit_code);
  return json::parse(outcome.output);
}

bool names(const json& differences, const std::string& file, const std::string& name) {
  for (const json& one : differences)
    if (one["file"] == file && one["name"].get<std::string>().starts_with(name)) return true;
  return false;
}

}  // namespace

TEST_CASE("a run that resumes bit for bit is reported as identical and keeps no files") {
  const json found = verify_as_json({}, 0);
  CHECK(found["result"] == "same");
  CHECK(found["differences"].empty());
  CHECK(found["epochs"] == 3);
  CHECK(found["steps_per_epoch"] == 8);
  CHECK(found["compared"]["step"] == 24);
  CHECK(found["compared"]["model_tensors"] == 4);
  CHECK(found["compared"]["lines"] > 12);
  // The runs are: uninterrupted, killed, resumed and killed, resumed.
  const json& runs = found["runs"];
  REQUIRE(runs.size() == 4);
  CHECK(runs[0]["killed"].is_null());
  CHECK(runs[0]["last_step"] == 24);
  CHECK(runs[1]["killed"]["at"] == "step_end");
  CHECK(runs[1]["killed"]["step"] > 8);
  CHECK(runs[2]["killed"]["at"] == "save");
  CHECK(runs[2]["killed"]["step"] > runs[1]["killed"]["step"]);
  CHECK(runs[2]["resumed_step"] >= 4);
  CHECK(runs[2]["resumed_step"] <= runs[1]["killed"]["step"]);
  CHECK(runs[3]["resumed_step"] >= runs[2]["resumed_step"]);
  CHECK(runs[3]["killed"].is_null());
  CHECK(fs::is_empty(temporary_folder()));
}

TEST_CASE("the metrics of the test data are compared") {
  const json found =
      verify_as_json({"--kills", "1", "--set", "data.test={like=\"validation\",subset=\"50%-100%\"}"}, 0);
  const json without = verify_as_json({"--kills", "1"}, 0);
  CHECK(found["result"] == "same");
  CHECK(found["compared"]["lines"] == without["compared"]["lines"].get<int>() + 1);
}

TEST_CASE("any of several processes can be killed") {
  const json found = verify_as_json({"--processes", "2", "--kills", "1"}, 0);
  CHECK(found["result"] == "same");
  CHECK(found["processes"] == 2);
  REQUIRE(found["runs"].size() == 3);
  CHECK(found["runs"][1]["killed"]["rank"] == 1);  // for this seed
  CHECK(found["runs"][2]["resumed_step"] >= 4);
  CHECK(fs::is_empty(temporary_folder()));
}

TEST_CASE("a run with a length in steps, accumulation and another seed also resumes") {
  const Outcome outcome =
      require_success(verify({"--set", "train={steps=1000,accumulate=2}", "--steps", "12", "--kills", "3", "--seed",
                              "7", "--set", "checkpoint.every=\"10 minutes\""}));
  CHECK(contains(outcome.output, " shortened: 12 steps, 4 per epoch, one process, a checkpoint every 2 steps\n"));
  CHECK(contains(outcome.output, "IDENTICAL: bit for bit the same with and without 3 kills: 4 tensors of the model"));
}

TEST_CASE("a callback without saved state is found by its metrics") {
  const Outcome outcome = verify({"--set", "callback=[{use=\"forgetful\"},{use=\"early_stopping\"}]", "--kills", "1"});
  CAPTURE(outcome.output);
  check_errors(outcome, 9, {});
  CHECK(contains(outcome.output, "NOT IDENTICAL"));
  CHECK(contains(outcome.output, "  history.jsonl: forgetful/steps: line "));
  CHECK(contains(outcome.output, "without saved state, which start from scratch when the run resumes: forgetful;"));
  const size_t command = outcome.output.find("host checkpoint diff ");
  REQUIRE(command != std::string::npos);
  std::istringstream words(outcome.output.substr(command));
  std::string host, checkpoint, diff, whole, resumed;
  words >> host >> checkpoint >> diff >> whole >> resumed;
  // Its metrics do not affect the weights.
  const Outcome looked = run_host({"checkpoint", "diff", whole, resumed});
  CAPTURE(looked.errors);
  CHECK(contains(looked.output, "model.safetensors: 4 tensors are equal"));
}

TEST_CASE("files of a callback are compared") {
  const std::string settings = "callback=[{use=\"journal\",params={cuts=";
  const Outcome outcome = require_success(verify({"--set", settings + "true}}]"}));
  CHECK(contains(outcome.output, " lines of history, 1 file of callbacks\n"));
  const json found = verify_as_json({"--set", settings + "false}}]"}, 9);
  CHECK(found["result"] == "differs");
  CHECK(names(found["differences"], "files", "journal/epochs.txt"));
}

TEST_CASE("a dataset with hidden state is found by the weights") {
  const json found = verify_as_json({"--set", "data.train={use=\"moody\"}", "--kills", "1"}, 9);
  CHECK(found["result"] == "differs");
  CHECK(names(found["differences"], "model.safetensors", ""));
  CHECK(names(found["differences"], "history.jsonl", "train/loss"));
  CHECK(found["differences_without_interruption"].empty());
  CHECK(contains(found["reasons"].dump(), "the dataset moody"));
  CHECK(found["folders"].size() == 2);
}

TEST_CASE("a run that is never the same twice is reported as not deterministic") {
  const json found = verify_as_json({"--set", "data.train={use=\"moody\",params={by=\"chance\"}}", "--kills", "1"}, 9);
  CHECK(found["result"] == "not_deterministic");
  CHECK(names(found["differences_without_interruption"], "model.safetensors", ""));
}

TEST_CASE("times logged by a callback are ignored and listed") {
  const json found = verify_as_json({"--set", "callback=[{use=\"throughput\"}]", "--kills", "1"}, 0);
  CHECK(found["result"] == "same");
  CHECK(names(found["left_out"], "history.jsonl", "throughput/"));
  CHECK(!names(found["left_out"], "history.jsonl", "train/"));
}

TEST_CASE("a run that ends when it is resumed is not identical") {
  const json found = verify_as_json({"--set", "callback=[{use=\"quitter\"}]"}, 9);
  CHECK(found["ended_early"] == true);
  CHECK(names(found["differences"], "manifest.json", ""));
}

TEST_CASE("a run that fails by itself ends the command with its exit code") {
  check_errors(verify({"--set", "optimizer.lr=\"fast\""}), 2, {"--set optimizer.lr: optimizer.lr is \"fast\""});
  check_errors(verify({"--set", "model.params.inputs=63"}), 3,
               {"a sample of \"image\" has 64 values; expected 63",
                "the run without interruption failed by itself with exit code 3"});
  CHECK(verify({"--set", "optimizer.lr=1e39", "--set", "schedule={use=\"constant\"}"}).exit_code == 7);
  CHECK(fs::is_empty(temporary_folder()));
}

TEST_CASE("invalid numbers of verify-resume are refused") {
  CHECK(verify({"--steps", "3"}).exit_code == 2);
  CHECK(verify({"--kills", "0"}).exit_code == 2);
  check_errors(verify({"--kills", "17"}), 2,
               {"ends after step 24 and has 16 steps after its second checkpoint, for 17 kills"});
  CHECK(fs::is_empty(temporary_folder()));
}

TEST_CASE("a stop request also ends its runs and keeps no files") {
  check_errors(verify({"--set", "callback=[{use=\"slow\"}]"}, "timeout --preserve-status --signal=INT 3"), 130, {});
  CHECK(fs::is_empty(temporary_folder()));
}

TEST_CASE("host killed-run kills a process of a run at the given step, and a plain run has no such switch") {
  const std::string where = with_temporary();
  const auto run = [&](const std::string& output, const std::vector<std::string>& more) {
    return run_host(joined(more, {"--config", kDigits, "--set", "train={steps=1}", "--set",
                                  "checkpoint.every=\"1 step\"", "--set", "run.output_dir=\"" + output + "\""}),
                    where + "TENON_KILL_AT=1");
  };
  CHECK(run("step_end", {"killed-run", "--step", "1"}).exit_code == 137);
  CHECK(run("save", {"killed-run", "--step", "1", "--during-save"}).exit_code == 137);
  CHECK(run("later", {"killed-run", "--step", "2"}).exit_code == 0);
  CHECK(run("plain", {}).exit_code == 0);
  check_errors(run("rank_1", {"killed-run", "--step", "1", "--rank", "1", "--set", "distributed.processes=2"}), 6,
               {"rank 1 was ended by SIGKILL"});
  check_errors(run("zero", {"killed-run", "--step", "0"}), 2, {"--step is 0; expected at least 1"});
  check_errors(run("none", {"killed-run"}), 2, {"killed-run has no --step"});
}
