// Tests the output of a run: --quiet, --verbose, --log-format json, --color, and the names of metrics.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

Outcome run_digits(const fs::path& output, std::vector<std::string> more, const std::string& prefix = "") {
  const std::string digits = TENON_SOURCE_DIR "/configs/digits_mlp.toml";
  more.insert(more.end(),
              {"--config", digits, "--limit-batches", "3", "--set", "run.output_dir=\"" + output.string() + "\""});
  return run_host(more, prefix);
}

// Runs in a terminal of 200 columns, without NO_COLOR. `settings`: of the environment.
std::string in_terminal(const std::string& settings) {
  return "python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' env -u "
         "NO_COLOR "
         "TERM=xterm " +
         settings + " sh -c 'stty cols 200; exec \"$@\"' sh";
}

bool has_escape_sequences(const std::string& text) { return text.find('\033') != std::string::npos; }

// The names of metrics in a text: "train/loss".
std::set<std::string> find_metrics(const std::string& text) {
  static const std::regex name("(train|validation)/[a-z_]+");
  return {std::sregex_token_iterator(text.begin(), text.end(), name), std::sregex_token_iterator()};
}

std::vector<ordered_json> lines_of(const std::string& text) {
  std::vector<ordered_json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(ordered_json::parse(line));
  return lines;
}

// The part of a line from `start` to its end.
std::string find_line(const std::string& text, const std::string& start) {
  const size_t begin = text.find(start);
  return begin == text.npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("a quiet run prints only warnings and errors") {
  const fs::path output = make_empty_folder("quiet");
  const Outcome outcome = require_success(run_digits(output, {"--quiet"}));
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
  const Outcome outcome = require_success(run_digits(output, {"--log-format", "json", "--set", "train.epochs=2"}));
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
  const Outcome outcome = require_success(run_digits(output, {"--verbose"}));
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

TEST_CASE("--color selects the colours of a file, and of a terminal in spite of NO_COLOR") {
  const fs::path output = make_empty_folder("colours");
  CHECK(has_escape_sequences(run_digits(output, {"--color", "always"}).output));
  CHECK(has_escape_sequences(run_host({"runs", output.string(), "--color=always"}).output));
  CHECK_FALSE(has_escape_sequences(run_host({"runs", output.string(), "--color", "auto"}).output));
  CHECK_FALSE(has_escape_sequences(run_host({"runs", output.string()}).output));
  const auto runs_in_terminal = [&](const std::string& settings, const std::string& option) {
    const Outcome outcome =
        require_success(run_host({"runs", output.string(), "--color", option}, in_terminal(settings)));
    CHECK(outcome.output.find("digits_mlp") != std::string::npos);
    return outcome.output;
  };
  CHECK(has_escape_sequences(runs_in_terminal("", "auto")));
  CHECK_FALSE(has_escape_sequences(runs_in_terminal("", "never")));
  CHECK_FALSE(has_escape_sequences(runs_in_terminal("NO_COLOR=1", "auto")));
  CHECK(has_escape_sequences(runs_in_terminal("NO_COLOR=1", "always")));
  CHECK_FALSE(has_escape_sequences(runs_in_terminal("TERM=dumb", "auto")));
  check_errors(run_host({"runs", output.string(), "--color", "alway"}), 2,
               {"--color is \"alway\"; did you mean \"always\"?; expected auto, always or never"});
}

TEST_CASE("metrics have the same names in a terminal, in a pipe and in the files of a run") {
  const fs::path terminal = make_empty_folder("names_in_terminal"), pipe = make_empty_folder("names_in_pipe");
  const Outcome shown = run_digits(terminal, {"--set", "train.epochs=1", "--color=never"}, in_terminal(""));
  const Outcome piped = run_digits(pipe, {"--set", "train.epochs=1"});
  CAPTURE(shown.output);
  CAPTURE(piped.output);
  REQUIRE(shown.exit_code == 0);
  REQUIRE(piped.exit_code == 0);
  const std::set<std::string> names = find_metrics(find_line(piped.output, "epoch 1/1  "));
  CHECK(names == std::set<std::string>{"train/learning_rate", "train/loss", "validation/accuracy", "validation/loss"});
  CHECK(find_metrics(find_line(shown.output, "epoch  ")) == names);
  for (const fs::path& output : {terminal, pipe}) {
    const fs::path run = find_run_folder(output, "digits_mlp");
    const std::string jsonl = read_file(run / "history.jsonl"), csv = read_file(run / "history.csv");
    std::set<std::string> in_lines;
    for (const ordered_json& line : lines_of(jsonl))
      for (const auto& [key, value] : line.items())
        if (key.find('/') != key.npos) in_lines.insert(key);
    CHECK(std::ranges::includes(in_lines, names));
    CHECK(find_metrics(csv.substr(0, csv.find('\n'))) == in_lines);
  }
}

TEST_CASE("a run of one sample, one step and one epoch prints them in the singular") {
  const fs::path output = make_empty_folder("singular");
  const Outcome outcome = require_success(run_digits(
      output, {"--set", "train.epochs=1", "--set", "data.train.subset=0.07%", "--set", "data.validation.subset=0.3%",
               "--set", "data.batch_size=1", "--set", "run.threads=1", "--verbose"}));
  CHECK(outcome.output.find("1 sample, 1 batch of 1\n") != std::string::npos);
  CHECK(outcome.output.find("finished after 1 step in ") != std::string::npos);
  CHECK(outcome.errors.find("LibTorch operators use 1 thread\n") != std::string::npos);
  static const std::regex plural(
      "[^0-9.,]1 (batches|classes|columns|cores|epochs|files|parameters|processes|samples|"
      "steps|tensors|threads|times|values|workers)\\b");
  CHECK_FALSE(std::regex_search(outcome.output + outcome.errors, plural));
}

TEST_CASE("contradicting options are refused") {
  const fs::path output = make_empty_folder("refused");
  CHECK(run_digits(output, {"--quiet", "--verbose"}).exit_code == 2);
  check_errors(run_digits(output, {"--log-format", "jason"}), 2, {"--log-format is \"jason\"; did you mean \"json\"?"});
}
