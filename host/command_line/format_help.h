// The texts that describe the commands: --help, the manual page, docs/reference/commands.md and the completions of
// shells.
#pragma once

#include <string>

#include "host/command_line/command.h"

namespace tenon::host {

// Describes `host` itself: one line for each command, and the options of training.
std::string format_help();

// Describes one command: usage, details, options and documentation page.
std::string format_help(const Command& command);

// The manual page in man(7) markup.
std::string format_manual(const std::string& version);

// docs/reference/commands.md: the reference of all commands in Markdown.
std::string format_command_page();

// A script that completes commands, options and values. `shell`: bash, zsh or fish. Throws Error(configuration) for any
// other value.
std::string format_completions(const std::string& shell);

}  // namespace tenon::host
