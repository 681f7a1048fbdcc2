// `host manual`: prints the manual page.
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"
#include "host/command_line/print_manual.h"

namespace tenon::host {

namespace {

int print_manual_page(const Arguments&) {
  reporting::write_output_text(print_manual(TENON_VERSION));
  return 0;
}

}  // namespace

extern const Command manual_command{.name = "manual",
                                    .arguments = "",
                                    .needed = "",
                                    .purpose = "print the manual page",
                                    .details = "Prints the manual page that `man tenon` shows.",
                                    .page = "guides/editors.md",
                                    .make_options = no_options,
                                    .run = print_manual_page};

}  // namespace tenon::host
