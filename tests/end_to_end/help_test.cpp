// Tests --help of every command, the manual page and the shell completions. All are generated from one list.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include "framework/support/diagnostics/error.h"
#include "host/command_line/format_help.h"
#include "host/command_line/registry.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"

using namespace tenon;
using end_to_end::Outcome;
using end_to_end::run_host;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == at)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

// The path of the host becomes $0 of the shell.
Outcome run_shell(const std::string& command) { return run_host({}, "sh -c \"" + command + "\""); }

// Returns the completions of bash for the last of these words.
std::vector<std::string> complete_in_bash(const std::vector<std::string>& words) {
  const fs::path folder = end_to_end::make_empty_folder("completion");
  end_to_end::write_file(folder / "run.toml", "");
  fs::create_directories(folder / "runs");
  std::string script = host::format_completions("bash") + "cd '" + folder.string() + "'\nCOMP_WORDS=(";
  for (const std::string& word : words) script += "'" + word + "' ";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) + "\n_tenon_host\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const fs::path file = end_to_end::write_file(folder / "script.sh", script);
  const Outcome outcome = run_shell("bash --norc --noprofile -eu '" + file.string() + "'");
  CAPTURE(outcome.errors);
  REQUIRE(outcome.errors.empty());
  std::vector<std::string> offered = split(outcome.output, '\n');
  while (!offered.empty() && offered.back().empty()) offered.pop_back();
  std::sort(offered.begin(), offered.end());
  return offered;
}

bool offers(const std::vector<std::string>& words, const std::string& word) {
  const std::vector<std::string> offered = complete_in_bash(words);
  return std::find(offered.begin(), offered.end(), word) != offered.end();
}

bool has_program(const std::string& name) { return run_shell("command -v " + name).exit_code == 0; }

}  // namespace

TEST_CASE("host --help names every command, and the help of each command names its options") {
  const Outcome help = end_to_end::require_success(run_host({"--help"}));
  for (const host::Command* command : host::commands()) {
    CAPTURE(std::string(command->name));
    CHECK(contains(help.output, command->name + std::string(" ")));
    const std::string description = host::format_help(*command);
    CHECK(contains(description, host::usage_of(*command)));
    for (const host::Option& option : host::options_of(*command))
      CHECK(contains(description, "--" + option->long_name()));
    CHECK(contains(description, "host manual | man -l -"));
    CHECK(!contains(description, "docs/"));  // an installed Tenon has none
    CHECK(fs::exists(fs::path(TENON_SOURCE_DIR) / "docs" / command->page));
  }
}

TEST_CASE("help is shown for incomplete commands and by the command help") {
  CHECK(contains(run_host({"predict", "--data", "train", "--help"}).output, "Usage: host predict"));
  CHECK(contains(run_host({"help", "checkpoint", "diff"}).output, "Usage: host checkpoint diff A B"));
  CHECK(contains(run_host({"checkpoint", "-h"}).output, "Usage: host checkpoint show PATH"));
  CHECK(contains(run_host({"help"}).output, "Usage: host --config FILE"));
  end_to_end::check_errors(run_host({"nonsense", "--help"}), 2, {"\"nonsense\" is not a command"});
}

TEST_CASE("a command is defined in one file of host/commands and named in registry.cpp only") {
  const fs::path host = fs::path(TENON_SOURCE_DIR) / "host";
  size_t defined = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(host / "commands")) {
    const std::string command = entry.path().stem().string() + "_command";
    CAPTURE(command);
    ++defined;
    CHECK(contains(end_to_end::read_file(entry.path()), "extern const Command " + command + "{"));
    for (const fs::directory_entry& other : fs::recursive_directory_iterator(host)) {
      if (!other.is_regular_file() || other.path() == entry.path()) continue;
      CAPTURE(other.path().string());
      // Another command may have a longer name that ends the same.
      const bool names_it = std::regex_search(end_to_end::read_file(other.path()), std::regex("\\b" + command + "\\b"));
      CHECK(names_it == (other.path().filename() == "registry.cpp"));
    }
  }
  CHECK(defined == host::commands().size() + host::internal_commands().size());
}

TEST_CASE("the help and the completions leave out the commands that other commands start") {
  const std::string texts = host::format_help() + host::format_manual("1") + host::format_completions("bash") +
                            host::format_completions("zsh") + host::format_completions("fish");
  for (const host::Command* command : host::internal_commands()) {
    CAPTURE(std::string(command->name));
    CHECK(host::find_command({command->name}) == command);
    CHECK(!contains(texts, command->name));
  }
}

TEST_CASE("the name of every command finds it, and its options are checked") {
  for (const host::Command* command : host::commands()) {
    if (command == &host::default_command()) continue;
    CAPTURE(std::string(command->name));
    CHECK(host::find_command(split(command->name, ' ')) == command);
    CHECK_THROWS_WITH_AS(host::parse_arguments(*command, {"--no-such-option"}, {"host"}),
                         doctest::Contains("unknown option --no-such-option"), support::Error);
  }
}

TEST_CASE("bash completes commands, options and values") {
  CHECK(complete_in_bash({"host", "ev"}) == std::vector<std::string>{"evaluate"});
  CHECK(offers({"host", ""}, "checkpoint"));
  CHECK(complete_in_bash({"host", "--res"}) == std::vector<std::string>{"--restarts", "--resume"});
  CHECK(offers({"host", "--resume", ""}, "latest"));
  CHECK(offers({"host", "--resume", ""}, "runs"));
  CHECK(complete_in_bash({"host", "--config", "ru"}) == std::vector<std::string>{"run.toml", "runs"});
  CHECK(complete_in_bash({"host", "checkpoint", ""}) == std::vector<std::string>{"diff", "show", "verify"});
  CHECK(complete_in_bash({"host", "checkpoint", "diff", "--"}) == std::vector<std::string>{"--json"});
  CHECK(complete_in_bash({"host", "init", ""}) == std::vector<std::string>{"images"});
  CHECK(complete_in_bash({"host", "init", "images", "ru"}) == std::vector<std::string>{"runs"});
  CHECK(complete_in_bash({"host", "new", "plugin", "edge", "--kind", "m"}) ==
        std::vector<std::string>{"metric", "model"});
  CHECK(offers({"host", "validate", "ru"}, "run.toml"));
  CHECK(offers({"host", "validate", "--co"}, "--component"));
  CHECK(complete_in_bash({"host", "export", "--dtype", "b"}) == std::vector<std::string>{"bf16"});
  CHECK(complete_in_bash({"host", "completion", "z"}) == std::vector<std::string>{"zsh"});
}

TEST_CASE("docs/reference/commands.md equals the output of host manual --markdown") {
  const std::string printed = host::format_command_page();
  const fs::path file = end_to_end::write_file(end_to_end::make_empty_folder("printed") / "commands.md", printed);
  INFO("if the difference is intended, copy " << file << " over docs/reference/commands.md");
  CHECK(printed == end_to_end::read_file(fs::path(TENON_SOURCE_DIR) / "docs" / "reference" / "commands.md"));
  CHECK(run_host({"manual", "--markdown"}).output == printed);
}

TEST_CASE("the output for zsh, fish and man has valid syntax") {
  const auto check = [](const std::vector<std::string>& arguments, const std::string& program,
                        const std::string& checker) {
    CAPTURE(program);
    const Outcome printed = end_to_end::require_success(run_host(arguments));
    const fs::path file =
        end_to_end::write_file(end_to_end::make_empty_folder("printed") / arguments.back(), printed.output);
    if (!has_program(program)) {
      MESSAGE(program << " is not installed: not checked");
      return;
    }
    const Outcome requests = end_to_end::require_success(run_shell(checker + " '" + file.string() + "'"));
    CHECK(requests.errors == "");
  };
  check({"completion", "zsh"}, "zsh", "zsh -n");
  check({"completion", "fish"}, "fish", "fish --no-execute");
  check({"manual"}, "mandoc", "mandoc -T lint -W error");
}

TEST_CASE("an unknown shell is reported") {
  end_to_end::check_errors(run_host({"completion", "fisch"}), 2,
                           {"completion has no shell \"fisch\"; did you mean \"fish\"?"});
  CHECK(contains(run_host({"completion"}).errors, "completion has no shell; expected host completion bash|zsh|fish"));
}
