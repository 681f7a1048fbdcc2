// The commands of `host` with their purposes and options. --help, the manual page and the shell completions are
// generated from this list.
#pragma once

#include <string>
#include <vector>

#include "host/command_options.h"

namespace tenon::host {

struct Command {
  std::string name;       // as typed: "lr-find", "checkpoint show"; empty: training
  std::string arguments;  // positional arguments, as in the usage: "FILE"
  std::string needed;     // required options, as in the usage: "--config FILE"
  std::string group;      // heading in the list of commands
  std::string purpose;    // one line without a subject: "list the runs in a folder"
  std::string details;    // complete sentences
  std::string page;       // page in docs/
  po::options_description (*make_options)();
};

// Training comes first. The other commands are sorted by group.
const std::vector<Command>& commands();

// Returns the command at the start of the words after `host`, or null if there is none. "checkpoint" alone finds
// "checkpoint show".
const Command* find_command(const std::vector<std::string>& words);

// Returns each first word once, for suggestions: "evaluate", "checkpoint".
std::vector<std::string> command_words();

using Option = boost::shared_ptr<po::option_description>;
std::vector<Option> options_of(const Command& command);

// The name that this program was started with: "host" or "tenon".
std::string program_name();

// Returns "host pack --config FILE --data NAME --out DIR [options]".
std::string usage_of(const Command& command);

}  // namespace tenon::host
