// Tests the host with closed standard streams and with a standard output that cannot be written.
#include <doctest/doctest.h>

#include <csignal>
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
  CHECK(run_host(joined(train_into(output), {"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/closing",
                                             "--set", "callback=[{use=\"closing\"}]"}))
            .exit_code == 0);
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
    check_errors(run_host(command, redirect(">/dev/full")), 11, {"standard output: cannot be written completely"});
  }
}

TEST_CASE("a reader that closes the pipe is no error") {
  const std::string head = "bash -c '\"$0\" \"$@\" | head -n 1; exit ${PIPESTATUS[0]}'";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"schema"}, {"manual"}}) {
    const Outcome outcome = run_host(command, head);
    CHECK((outcome.exit_code == 0 || outcome.exit_code == 128 + SIGPIPE));
    CHECK(outcome.errors == "");
  }
  const Outcome trained = require_success(run_host(
      joined(train_into(make_empty_folder("head")), {"--log-format", "json", "--set", "log.every=1 step"}), head));
  CHECK(trained.errors.find("cannot be written") == std::string::npos);
}

TEST_CASE("a run finishes with a warning if its terminal output cannot be written") {
  const fs::path output = make_empty_folder("full");
  const Outcome outcome = require_success(run_host(train_into(output), redirect(">/dev/full")));
  CHECK(outcome.errors.find("warning: standard output: cannot be written completely") != std::string::npos);
  CHECK(fs::exists(find_run_folder(output, "digits_mlp") / "checkpoints/latest/model.safetensors"));
}

TEST_CASE("a terminal does not obey text of a run file, a file name or a plugin") {
  const fs::path output = make_empty_folder("escapes");
  const Outcome run = require_success(run_host(train_into(output / "\\u001b[31mred")));
  CHECK(run.output.find("\\u001b[31mred") != std::string::npos);
  CHECK(run.output.find('\x1b') == std::string::npos);

  const Outcome json = run_host({"runs", output / "\x1b[31mred", "--json"});
  CHECK(json.output.find("\\u001b[31mred") != std::string::npos);
  CHECK(json.output.find('\x1b') == std::string::npos);

  const Outcome error = run_host({"--config", output / "\x1b]0;title\x07.toml"});
  check_errors(error, 2, {"\\u001b]0;title\\u0007.toml"});
  CHECK(error.errors.find('\x1b') == std::string::npos);
}

TEST_CASE("a long value is shortened in a message, whether it is quoted or not") {
  const std::string longest(100'000, 'x');
  const fs::path folder = make_empty_folder("long");
  const std::string run_file = read_file(TENON_SOURCE_DIR "/configs/digits_mlp.toml");
  const auto with = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = run_file;
    const size_t at = text.find(from);
    REQUIRE(at != text.npos);
    return write_file(folder / name, text.replace(at, from.size(), to)).string();
  };
  write_file(folder / "cell.csv", "a,b\n1,2\n" + std::string(10'000'000, 'y') + ",3\n");
  write_file(folder / "label.csv", "path,label\nimage.png," + longest + "\n");
  const std::string digits = "use = \"digits\"\nparams = { split = \"train\" }";
  const auto with_data = [&](const std::string& name, const std::string& data) { return with(name, digits, data); };
  const std::vector<std::vector<std::string>> commands = {
      {"--config", with("use.toml", "use = \"mlp\"", "use = \"" + longest + "\"")},
      {"--config", with("section.toml", "[train]", "[" + longest + "]\n[train]")},
      {"--config", with("key.toml", "[train]", "[train]\n" + longest + " = 1")},
      {"--config", with("parameter.toml", "hidden = [128]", longest + " = 64")},
      {"--config", with("port.toml", "use = \"mlp\"", "use = \"mlp\"\ninputs = { " + longest + " = \"data.image\" }")},
      {"--config", with("source.toml", "use = \"mlp\"", "use = \"mlp\"\ninputs = { image = \"" + longest + "\" }")},
      {"--config", with_data("cell.toml",
                             "use = \"table\"\nparams = { path = \"cell.csv\", target = \"b\", "
                             "task = \"regression\" }")},
      {"--config", with_data("column.toml", "use = \"table\"\nparams = { path = \"cell.csv\", target = \"" + longest +
                                                "\", task = \"regression\" }")},
      {"--config", with_data("path.toml", "use = \"arrays\"\nparams = { path = \"" + longest + "\" }")},
      {"--config",
       with_data("label.toml", "use = \"image_csv\"\nparams = { path = \"label.csv\", classes = [\"a\", \"b\"] }")},
      {"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--set", "train." + longest + "=1"},
      {"--config", longest},
      {"--" + longest},
      {longest},
      {"describe", longest},
      {"runs", longest},
  };
  for (const std::vector<std::string>& command : commands) {
    CAPTURE(command.back().substr(0, 200));
    const Outcome outcome = run_host(command);
    CAPTURE(outcome.errors.substr(0, 2000));
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.exit_code < 6);
    CHECK(outcome.errors.find(" bytes...]") != std::string::npos);
    CHECK(outcome.errors.size() < 2000);
  }
}

TEST_CASE("a long text of a plugin is bounded in the terminal, in the log and in the run's state") {
  const fs::path output = make_empty_folder("talkative");
  const Outcome outcome =
      run_host(joined(train_into(output), {"--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/talkative",
                                           "--set", "callback=[{use=\"talkative\", params={at=1}}]"}));
  CHECK(outcome.exit_code == 3);
  constexpr size_t kMost = 16 * 1024 + 200;
  CHECK(outcome.errors.find("logged logged") != std::string::npos);
  CHECK(outcome.errors.find("failed failed") != std::string::npos);
  CHECK(outcome.errors.size() < 2 * kMost);
  const fs::path run = find_run_folder(output, "digits_mlp");
  CHECK(read_file(run / "log.txt").size() < 4 * kMost);
  CHECK(read_file(run / "run.json").size() < 2 * kMost);
}
