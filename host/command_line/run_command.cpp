#include "host/command_line/registry.h"

#include <tenon/abi.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "framework/components/loading/check_plugin.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/distributed/launch/world.h"
#include "framework/formats/nearest_name.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/installation.h"
#include "framework/support/text/terminal.h"
#include "host/command_line/command.h"
#include "host/command_line/format_help.h"
#include "host/process/process_setup.h"

namespace tenon::host {

namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, const char* word) { return std::find(words.begin(), words.end(), word) != words.end(); }

// These come before the check for required options: the command may be incomplete. `host help pack` shows help too.
bool requests_help(const Words& words) {
  return (!words.empty() && words[0] == "help") || has(words, "--help") || has(words, "-h");
}

void print_help(Words words) {
  if (!words.empty() && words[0] == "help") words.erase(words.begin());
  if (!words.empty() && words.front() == kTrain) words.erase(words.begin());
  const Command* command = find_command(words);
  // `host checkpoint --help` describes show, verify and diff.
  const auto family = command || words.empty() ? std::vector<const Command*>() : commands_of(words[0]);
  if (!command && family.empty() && !words.empty() && looks_like_command(words[0])) refuse_unknown_command(words[0]);
  std::string text;
  for (const Command* one : family) text += (text.empty() ? "" : "\n") + format_help(*one);
  reporting::write_output_text(command ? format_help(*command) : family.empty() ? format_help() : text);
}

// "checkpoint" needs a second word.
void require_second_word(const Words& words) {
  const auto family = words.empty() ? std::vector<const Command*>() : commands_of(words[0]);
  if (family.empty()) return;
  Words commands, second;
  for (const Command* command : family) {
    commands.push_back(program_name() + " " + command->name + " " + command->arguments);
    second.push_back(std::string(command->name).substr(words[0].size() + 1));
  }
  const std::string expected = join_choices(commands);
  if (words.size() < 2) refuse_command_line(nullptr, words[0] + " has no command", expected);
  refuse_command_line(
      nullptr, words[0] + " " + words[1] + " is not a command" + formats::suggest_name(words[1], second), expected);
}

void print_versions() {
  reporting::write_output("tenon {}\nlibtorch {}\nplugin abi {} to {}\n", TENON_VERSION, components::torch_build(),
                          components::describe_abi(TENON_ABI_OLDEST), components::describe_abi(TENON_ABI_CURRENT));
}

void print_prefix() { reporting::write_output("{}\n", support::find_installation().prefix.string()); }

// A command other than training would do the same work in each process and write the same files.
void require_one_process(const std::string& command, const distributed::World& world) {
  if (world.size == 1) return;
  throw support::Error(support::ErrorKind::configuration,
                       "environment: host {} is one of {} processes that {} has started; expected one process: this "
                       "command does not support several",
                       command, world.size, distributed::name_of(world.launcher));
}

int run_one(const Command& command, const Words& words, const Words& command_line) {
  const std::string name = command.name;
  const auto name_words = name.empty() ? 0 : 1 + std::count(name.begin(), name.end(), ' ');
  const Arguments arguments = parse_arguments(command, Words(words.begin() + name_words, words.end()), command_line);
  if (command.is_for_one_process) require_one_process(command.name, distributed::read_world());
  return command.run(arguments);
}

constexpr const char* kColourOption = "--color";

void apply_colours(const std::string& value) {
  using support::Colours;
  static const std::vector<std::pair<std::string, Colours>> known = {
      {"auto", Colours::automatic}, {"always", Colours::always}, {"never", Colours::never}};
  const auto found = std::ranges::find(known, value, &std::pair<std::string, Colours>::first);
  if (found == known.end())
    refuse_command_line(nullptr,
                        std::string(kColourOption) + " is \"" + value + "\"" +
                            formats::suggest_name(value, {"auto", "always", "never"}),
                        "auto, always or never");
  support::set_colours(found->second);
}

// Applies --color WHEN, which every command accepts, and removes it from the words of a command line.
void take_colour_option(Words& words) {
  const std::string prefix = std::string(kColourOption) + "=";
  for (auto word = words.begin(); word != words.end();) {
    if (word->starts_with(prefix)) {
      apply_colours(word->substr(prefix.size()));
      word = words.erase(word);
    } else if (*word == kColourOption) {
      apply_colours(word + 1 == words.end() ? "" : *(word + 1));
      word = words.erase(word, word + 2);
    } else {
      ++word;
    }
  }
}

}  // namespace

int run_command(int argc, const char* const* argv) {
  const Words command_line(argv, argv + argc);
  Words words(argv + std::min(argc, 1), argv + argc);
  take_colour_option(words);
  // Training is the default; it may be named.
  const bool is_named_training = !words.empty() && words.front() == kTrain;
  if (is_named_training) words.erase(words.begin());
  bool is_training = false;
  int exit_code = 0;
  if (requests_help(words) || (words.empty() && !is_named_training)) {
    print_help(words);
  } else if (has(words, "--version")) {
    print_versions();
  } else if (has(words, "--prefix")) {
    print_prefix();
  } else {
    const Command* found = find_command(words);
    if (!found) require_second_word(words);
    if (!found && !is_named_training && !words.empty() && looks_like_command(words[0]))
      refuse_unknown_command(words[0]);
    is_training = !found;
    exit_code = run_one(found ? *found : default_command(), words, command_line);
  }
  try {
    flush_standard_output();
  } catch (const support::Error& error) {
    // The results of a run are in its folder.
    if (!is_training) throw;
    support::log_warning(error.what());
  }
  return exit_code;
}

}  // namespace tenon::host
