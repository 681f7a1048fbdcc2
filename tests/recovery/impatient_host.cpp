// The host, except that it reports a call that does not return after a moment instead of 30 s. Tests wait for the
// message.
#include <exception>

#include "framework/support/diagnostics/log.h"
#include "host/command_line/registry.h"
#include "host/process/call_reports.h"

int main(int argc, char** argv) {
  tenon::host::start_call_reports(std::chrono::milliseconds(300));
  try {
    return tenon::host::run_command(argc, argv);
  } catch (const std::exception& error) {
    tenon::support::log_error(error.what());
    return 1;
  }
}
