// The program `host`. Converts errors to exit codes; end_rank() does it for the errors of one of several ranks.
#include <exception>

#include "framework/components/calls/guard.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "host/command_line/registry.h"
#include "host/process/call_reports.h"
#include "host/process/describe_failure.h"
#include "host/process/process_setup.h"

namespace {

[[gnu::used, gnu::section(".preinit_array")]] void (*before_constructors)(int, char**,
                                                                          char**) = tenon::host::set_up_heap;

}  // namespace

int main(int argc, char** argv) {
  tenon::host::skip_library_destructors();
  tenon::host::open_standard_streams();
  int exit_code = static_cast<int>(tenon::support::ErrorKind::internal);
  try {
    tenon::host::report_crashes();
    tenon::host::report_uncaught_exceptions();
    exit_code = tenon::host::run_command(argc, argv);
    tenon::components::detail::check_forked_processes();
  } catch (const std::exception& error) {
    const tenon::host::Failure failure = tenon::host::describe_failure(error);
    tenon::support::log_error(failure.message);
    exit_code = failure.exit_code;
  }
  tenon::support::flush_log();
  tenon::host::report_hanging_exit();
  return exit_code;
}
