// The list of commands. --help, the manual page, the shell completions and main() read it. A new command is a file in
// host/commands/ and a line in registry.cpp.
#pragma once

#include <string>
#include <vector>

#include "host/command_line/command.h"

namespace tenon::host {

struct CommandGroup {
  const char* heading;  // in the list of commands
  std::vector<const Command*> commands;
};

// Training comes first and is a separate group.
const std::vector<CommandGroup>& command_groups();

// The commands of all groups.
const std::vector<const Command*>& commands();

// Commands that other commands start. They are neither in the groups nor in commands().
const std::vector<const Command*>& internal_commands();

inline constexpr const char* kTrain = "train";

// Training: `host` without a command, or `host train`.
const Command& default_command();

// Returns the command with the name at the start of the words after `host`, or null if there is none.
const Command* find_command(const std::vector<std::string>& words);

// The commands with this first word: "checkpoint show", "checkpoint verify" and "checkpoint diff" for "checkpoint".
std::vector<const Command*> commands_of(const std::string& first_word);

// Returns each first word once, for suggestions: "evaluate", "checkpoint".
std::vector<std::string> command_words();

// Whether a word can only be meant as a command: it is no option, no setting such as train.epochs=3, and no path.
bool looks_like_command(const std::string& word);

// Throws Error(configuration) with the command that the word may mean, or with all commands.
[[noreturn]] void refuse_unknown_command(const std::string& word);

// Throws Error(configuration) with what an option that the command does not have may mean: another option, or --set
// with a key of the run file. `word`: the option, perhaps with =VALUE. `words`: those of the command line.
[[noreturn]] void refuse_unknown_option(const Command& command, const std::string& word,
                                        const std::vector<std::string>& words);

// Returns "; did you mean --set train.epochs=3?" for an argument that the command does not take, or "". `arguments`:
// the positional arguments, from this one on.
std::string suggest_argument(const Command& command, const std::vector<std::string>& arguments,
                             const po::variables_map& given);

// Returns the exit code of the command (docs/reference/exit_codes.md). Throws Error(configuration) for a wrong command
// line, and what the command throws.
int run_command(int argc, const char* const* argv);

}  // namespace tenon::host
