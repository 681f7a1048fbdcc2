// A command of `host`: what --help, the manual page and the completions say about it, its options and its action.
#pragma once

#include <string>
#include <vector>

#include "host/command_line/arguments.h"
#include "host/command_line/command_options.h"

namespace tenon::host {

struct Command {
  const char* name;       // as typed: "lr-find", "checkpoint show"; empty: training
  const char* arguments;  // positional arguments, as in the usage: "FILE", "[DIR]", "RUN [RUN ...]", "A B"
  const char* needed;     // required options, as in the usage: "--config FILE"
  const char* purpose;    // one line without a subject: "list the runs in a folder"
  const char* details;    // complete sentences
  const char* page;       // page in docs/, which the reference of all commands links to
  po::options_description (*make_options)();
  // Returns the exit code (docs/reference/exit_codes.md); throws support::Error.
  int (*run)(const Arguments& arguments);
  // Several processes, such as those of torchrun, would do the same work and write the same files.
  bool is_for_one_process = false;
};

using Option = boost::shared_ptr<po::option_description>;
std::vector<Option> options_of(const Command& command);

// The name that this program was started with: "host" or "tenon".
std::string program_name();

// Returns "host pack --config FILE --data NAME --output DIR [options]".
std::string usage_of(const Command& command);

// Parses the words after the command's name. `command_line`: all words, with the program. Throws Error(configuration)
// with the value found and the value expected.
Arguments parse_arguments(const Command& command, const std::vector<std::string>& words,
                          std::vector<std::string> command_line);

}  // namespace tenon::host
