#include "host/process/process_setup.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "framework/pipeline/device/device_error.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/process/before_exit.h"
#include "framework/support/text/printable.h"
#include "host/process/describe_failure.h"

namespace tenon::host {

namespace {

// The log may not exist yet, and its lock may be held.
void write_text(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // no output left
}

void print_error(const std::string& message) { write_text(("error: " + support::printable(message) + "\n").c_str()); }

void describe_exception(const std::exception_ptr& escaped) {
  try {
    std::rethrow_exception(escaped);
  } catch (const std::exception& error) {
    const Failure failure = describe_failure(error);
    // LibTorch releases memory of a device with calls that throw in destructors if the device has failed.
    if (failure.exit_code == static_cast<int>(support::ErrorKind::out_of_memory) ||
        failure.exit_code == static_cast<int>(support::ErrorKind::system) ||
        failure.exit_code == static_cast<int>(support::ErrorKind::device)) {
      print_error(failure.message);
      support::end_process(failure.exit_code);
    }
    print_error("an exception was not caught: " + pipeline::message_of(error));
  } catch (...) {
    print_error("an exception of unknown type was not caught");
  }
}

std::atomic<pid_t> reporting_thread{0};
static_assert(std::atomic<pid_t>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

[[noreturn]] void report_uncaught_exception() {
  pid_t other = 0;
  if (!reporting_thread.compare_exchange_strong(other, gettid()) && other != gettid())
    for (;;) pause();  // the other thread ends the process
  try {
    if (const std::exception_ptr escaped = std::current_exception()) describe_exception(escaped);
  } catch (...) {
    // There was no memory left for the message.
    write_text("error: out of memory; if the address space of the process is limited, raise the limit (ulimit -v)\n");
    support::end_process(static_cast<int>(support::ErrorKind::system));
  }
  std::abort();
}

}  // namespace

bool is_uncaught_exception_reported() noexcept { return reporting_thread != 0; }

void report_uncaught_exceptions() { std::set_terminate(report_uncaught_exception); }

}  // namespace tenon::host
