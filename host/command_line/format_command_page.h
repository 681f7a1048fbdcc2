// docs/reference/commands.md: the reference of all commands in Markdown.
#pragma once

#include <string>

namespace tenon::host {

std::string format_command_page();

}  // namespace tenon::host
