// `host manual`: prints the manual page.
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"
#include "host/command_line/format_help.h"

namespace tenon::host {

namespace {

void add_manual_options(AddOption& add) { add("markdown", "print the reference of all commands in Markdown"); }

int print_manual_page(const Arguments& arguments) {
  reporting::write_output_text(arguments.has("markdown") ? format_command_page() : format_manual(TENON_VERSION));
  return 0;
}

}  // namespace

extern const Command manual_command{
    .name = "manual",
    .purpose = "print the manual page",
    .details = "Prints the manual page of the program with this name. --markdown prints the reference of all commands.",
    .page = "guides/editors.md",
    .add_options = add_manual_options,
    .run = print_manual_page};

}  // namespace tenon::host
