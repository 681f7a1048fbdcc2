// `host manual`: prints the manual page.
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"
#include "host/command_line/command_options.h"
#include "host/command_line/format_command_page.h"
#include "host/command_line/format_manual.h"

namespace tenon::host {

namespace {

po::options_description make_manual_options() {
  po::options_description options = no_options();
  options.add_options()("markdown", "print the reference of all commands in Markdown");
  return options;
}

int print_manual_page(const Arguments& arguments) {
  reporting::write_output_text(arguments.has("markdown") ? format_command_page() : format_manual(TENON_VERSION));
  return 0;
}

}  // namespace

extern const Command manual_command{
    .name = "manual",
    .arguments = "",
    .needed = "",
    .purpose = "print the manual page",
    .details = "Prints the manual page of the program with this name. --markdown prints the reference of all commands.",
    .page = "guides/editors.md",
    .make_options = make_manual_options,
    .run = print_manual_page};

}  // namespace tenon::host
