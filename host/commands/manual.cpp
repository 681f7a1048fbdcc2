// `host manual`: prints the manual page.
#include "host/command_line/command.h"
#include "host/command_line/print_manual.h"
#include "host/process/standard_streams.h"

namespace tenon::host {

namespace {

int print_manual_page(const Arguments&) {
  write_output_text(print_manual(TENON_VERSION));
  return 0;
}

}  // namespace

extern const Command manual_command{.name = "manual",
                                    .arguments = "",
                                    .needed = "",
                                    .purpose = "print the manual page",
                                    .details = "Prints the manual page that `man tenon` shows.",
                                    .page = "editors.md",
                                    .make_options = no_options,
                                    .run = print_manual_page};

}  // namespace tenon::host
