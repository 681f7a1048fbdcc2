// "Did you mean ...?" for words of the command line.
#pragma once

#include <string>
#include <vector>

#include "host/command_line/command.h"

namespace tenon::host {

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

}  // namespace tenon::host
