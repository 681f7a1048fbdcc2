// What --help prints.
#pragma once

#include <string>

#include "host/help/commands.h"

namespace tenon::host {

// Of `host` itself: the commands in a line each, and the options of training.
std::string describe_host();

// Of one command: its usage, what it does, its options, its page.
std::string describe_command(const Command& command);

// For --help and the manual page: where plugins are looked for, exit codes.
std::string describe_plugin_search();
struct ExitCode {
  std::string code;
  std::string meaning;
};
const std::vector<ExitCode>& exit_codes();

}  // namespace tenon::host
