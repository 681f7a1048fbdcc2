// Tests the output of a run: --quiet, --verbose and --log-format json.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

Outcome run_digits(const fs::path& output, std::vector<std::string> more) {
  const std::string digits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";
  more.insert(more.end(),
              {"--config", digits, "--limit-batches", "3", "--set", "run.output_dir=\"" + output.string() + "\""});
  return run_host(more);
}

std::vector<ordered_json> lines_of(const std::string& text) {
  std::vector<ordered_json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(ordered_json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("a quiet run prints only warnings and errors") {
  const fs::path output = make_empty_folder("quiet");
  const Outcome outcome = run_digits(output, {"--quiet"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output == "");
  CHECK(outcome.errors == "");
  const Outcome wrong =
      run_digits(output, {"--quiet", "--set", "optimizer.lr=1e39", "--set", "schedule={use=\"constant\"}"});
  CHECK(wrong.exit_code == 7);
  CHECK(wrong.output == "");
  CHECK(wrong.errors.find("error: ") == 0);
}

TEST_CASE("a run prints JSON: its start, the lines of its history, its end") {
  const fs::path output = make_empty_folder("json");
  const Outcome outcome = run_digits(output, {"--log-format", "json", "--set", "train.epochs=2"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors == "");
  const std::vector<ordered_json> lines = lines_of(outcome.output);
  REQUIRE(lines.size() > 4);
  CHECK(lines.front()["event"] == "run");
  CHECK(lines.front()["epochs"] == 2);
  CHECK(lines.front()["resumed_from"].is_null());
  const fs::path folder = lines.front()["folder"].get<std::string>();
  CHECK(fs::exists(folder / "run.json"));
  const ordered_json& end = lines.back();
  CHECK(end["event"] == "end");
  CHECK(end["status"] == "finished");
  CHECK(end["step"] == 6);
  CHECK(fs::exists(fs::path(end["checkpoint"].get<std::string>()) / "model.safetensors"));
  CHECK(fs::exists(fs::path(end["best"]["checkpoint"].get<std::string>()) / "model.safetensors"));
  CHECK(end["stages"]["forward"] > 0);
  const std::vector<ordered_json> history = lines_of(read_file(folder / "history.jsonl"));
  CHECK(std::vector<ordered_json>(lines.begin() + 1, lines.end() - 1) == history);
}

TEST_CASE("errors are JSON too") {
  const fs::path output = make_empty_folder("json_error");
  const Outcome outcome = run_digits(
      output, {"--log-format", "json", "--set", "optimizer.lr=1e39", "--set", "schedule={use=\"constant\"}"});
  CHECK(outcome.exit_code == 7);
  const std::vector<ordered_json> lines = lines_of(outcome.errors);
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.back()["level"] == "error");
  CHECK(lines.back()["message"].get<std::string>().find("loss") != std::string::npos);
}

TEST_CASE("a verbose run prints the lines of its log") {
  const fs::path output = make_empty_folder("verbose");
  const Outcome outcome = run_digits(output, {"--verbose"});
  CHECK(outcome.exit_code == 0);
  const std::string log = read_file(find_run_folder(output, "digits_mlp") / "log.txt");
  std::istringstream stream(log);
  size_t looked_at = 0;
  for (std::string line; std::getline(stream, line); ++looked_at) {
    const size_t message = line.find(": ");  // after the time and the level
    REQUIRE(message != line.npos);
    CHECK(outcome.errors.find(line.substr(message + 2)) != std::string::npos);
  }
  CHECK(looked_at > 0);
}

TEST_CASE("contradicting options are refused") {
  const fs::path output = make_empty_folder("refused");
  CHECK(run_digits(output, {"--quiet", "--verbose"}).exit_code == 2);
  const Outcome wrong = run_digits(output, {"--log-format", "jason"});
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.errors.find("--log-format is \"jason\"; did you mean \"json\"?") != std::string::npos);
}
