// `host completion SHELL`: prints the script that a shell sources to complete commands, options and values.
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"
#include "host/command_line/format_help.h"

namespace tenon::host {

namespace {

int print_completion(const Arguments& arguments) {
  reporting::write_output_text(format_completions(arguments.positional().front()));
  return 0;
}

}  // namespace

extern const Command completion_command{
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .purpose = "print shell completions",
    .details =
        "Prints the script that a shell sources to complete commands, options and values after this program's name.",
    .page = "guides/editors.md",
    .run = print_completion};

}  // namespace tenon::host
