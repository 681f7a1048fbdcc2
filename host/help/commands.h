// The commands of `host`: what each is for, and its options. --help, the manual page and the completions of shells are
// made from this.
#pragma once

#include <string>
#include <vector>

#include "host/command_options.h"

namespace tenon::host {

struct Command {
  std::string name;       // as it is typed: "lr-find", "checkpoint show"; empty: training
  std::string arguments;  // that stand before the options, as usage shows them: "FILE"
  std::string needed;     // options without which it refuses, likewise: "--config FILE"
  std::string group;      // the heading that it stands under
  std::string purpose;    // completes "host NAME ...", in one line
  std::string details;    // whole sentences
  std::string page;       // of docs/
  po::options_description (*make_options)();
};

// Training first, the others by group.
const std::vector<Command>& commands();

// The command that the words after `host` begin with, "checkpoint" alone being "checkpoint show"; null: none.
const Command* find_command(const std::vector<std::string>& words);

// Each first word once, for a person's guess: "evaluate", "checkpoint".
std::vector<std::string> command_words();

using Option = boost::shared_ptr<po::option_description>;
std::vector<Option> options_of(const Command& command);

// "host pack --config FILE --data NAME --out DIR [options]"
std::string usage_of(const Command& command);

}  // namespace tenon::host
