// Tests the host with closed standard streams and with a standard output that cannot be written.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

// A shell that starts the host with these redirections.
std::string redirect(const std::string& redirections) { return "sh -c 'exec \"$0\" \"$@\" " + redirections + "'"; }

std::vector<std::string> train_into(const fs::path& output) {
  return {"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--limit-batches", "2", "--set", "train={steps=2}",
          "--set",    "run.output_dir=\"" + output.string() + "\""};
}

}  // namespace

TEST_CASE("closed standard streams do not receive a file of the run") {
  for (const char* const closed : {"<&- >&- 2>&-", ">&-", "<&- >&-"}) {
    CAPTURE(closed);
    const fs::path output = make_empty_folder("closed");
    CHECK(run_host(train_into(output), redirect(closed)).exit_code == 0);
    const std::string history = read_file(find_run_folder(output, "digits_mlp") / "history.jsonl");
    CHECK(history.starts_with("{\"event\": "));
    CHECK(history.find("\nmodel ") == std::string::npos);
    CHECK(history.ends_with("}\n"));
  }
}

TEST_CASE("a plugin that closes the standard streams does not receive them in a file of the run") {
  const fs::path output = make_empty_folder("closed_by_plugin");
  std::vector<std::string> arguments = train_into(output);
  arguments.insert(arguments.end(), {"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/closing", "--set",
                                     "callback=[{use=\"closing\"}]"});
  CHECK(run_host(arguments).exit_code == 0);
  const fs::path run = find_run_folder(output, "digits_mlp");
  std::istringstream history(read_file(run / "history.jsonl"));
  int lines = 0;
  for (std::string line; std::getline(history, line); ++lines) CHECK(line.starts_with("{\"event\": "));
  CHECK(lines > 0);
  const std::string log = read_file(run / "log.txt");
  CHECK(log.find("warning: a plugin closed a standard stream") != std::string::npos);
  CHECK(log.find("\nmodel ") == std::string::npos);
}

TEST_CASE("a command fails if its output cannot be written") {
  const std::vector<std::string> commands[] = {{"schema"}, {"plugins"}, {"--version"}, {"help"}, {"manual"}};
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command.front());
    const Outcome outcome = run_host(command, redirect(">/dev/full"));
    CHECK(outcome.exit_code == 11);
    CHECK(outcome.errors.find("standard output: cannot be written completely") != std::string::npos);
  }
}

TEST_CASE("a run finishes with a warning if its terminal output cannot be written") {
  const fs::path output = make_empty_folder("full");
  const Outcome outcome = run_host(train_into(output), redirect(">/dev/full"));
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.find("warning: standard output: cannot be written completely") != std::string::npos);
  CHECK(fs::exists(find_run_folder(output, "digits_mlp") / "checkpoints/latest/model.safetensors"));
}

TEST_CASE("a terminal does not obey text of a run file, a file name or a plugin") {
  const fs::path output = make_empty_folder("escapes");
  const Outcome run = run_host(train_into(output / "\\u001b[31mred"));
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("\\u001b[31mred") != std::string::npos);
  CHECK(run.output.find('\x1b') == std::string::npos);

  const Outcome json = run_host({"runs", output / "\x1b[31mred", "--json"});
  CHECK(json.output.find("\\u001b[31mred") != std::string::npos);
  CHECK(json.output.find('\x1b') == std::string::npos);

  const Outcome error = run_host({"--config", output / "\x1b]0;title\x07.toml"});
  CHECK(error.exit_code == 2);
  CHECK(error.errors.find("\\u001b]0;title\\u0007.toml") != std::string::npos);
  CHECK(error.errors.find('\x1b') == std::string::npos);
}
