// The engine: all of Tenon behind the program `host`, as a shared library that needs one minor version of LibTorch.
// Converts errors to exit codes; end_rank() does it for the errors of one of several ranks.
#include <cstdio>
#include <cstring>
#include <exception>

#include "framework/components/calls/guard.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "host/command_line/registry.h"
#include "host/process/call_reports.h"
#include "host/process/describe_failure.h"
#include "host/process/process_setup.h"
#include "host/program/engine_entry.h"
#include "host/program/exit_codes.h"

extern "C" [[gnu::visibility("default")]] int tenon_run_engine(const tenon::program::EngineStart& start) {
  if (std::strcmp(start.tenon_version, TENON_VERSION) != 0) {
    std::fprintf(stderr,
                 "error: the engine belongs to Tenon " TENON_VERSION ", and the program to %s; install Tenon again\n",
                 start.tenon_version);
    return tenon::program::kNotFound;
  }
  int exit_code = static_cast<int>(tenon::support::ErrorKind::internal);
  tenon::host::skip_library_destructors();
  try {
    tenon::host::report_crashes();
    tenon::host::report_uncaught_exceptions();
    tenon::host::set_wait_policy_description(start.wait_policy);
    tenon::components::set_libtorch_version(start.libtorch_version);
    exit_code = tenon::host::run_command(start.argc, start.argv);
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
