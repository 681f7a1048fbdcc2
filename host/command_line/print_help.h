// The texts that --help prints.
#pragma once

#include <string>

#include "host/command_line/command.h"

namespace tenon::host {

// Describes `host` itself: one line for each command, and the options of training.
std::string help_text();

// Describes one command: usage, details, options and documentation page.
std::string help_text(const Command& command);

// The plugin search path and the exit codes, for --help and the manual page.
std::string describe_plugin_search();
struct ExitCode {
  std::string code;
  std::string meaning;
};
const std::vector<ExitCode>& exit_codes();

}  // namespace tenon::host
