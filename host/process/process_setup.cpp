#include "host/process/process_setup.h"

#include <poll.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/diagnostics/sanitizers.h"
#include "framework/support/files/standard_streams.h"
#include "framework/support/process/before_exit.h"

namespace tenon::host {

namespace {

std::string& wait_policy() {
  static std::string text;
  return text;
}

}  // namespace

void set_wait_policy_description(std::string text) { wait_policy() = std::move(text); }

const std::string& wait_policy_description() { return wait_policy(); }

void skip_library_destructors() {
  if (support::kIsSanitized || getenv("LD_PRELOAD") || getenv("CUDA_INJECTION64_PATH")) return;
  // Handlers run in reverse order: those of plugins before this one, and those of libraries, which were registered when
  // LibTorch was loaded, would run after it.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        support::end_process(status);
      },
      nullptr);
}

void restore_standard_streams() {
  if (support::open_standard_streams())
    support::log_warning(
        "a plugin closed a standard stream (descriptor 0, 1 or 2); what the host reads from or writes to it is lost: "
        "find the plugin with host validate --check keeps-descriptors, and let it close only what it opened");
}

void flush_standard_output() {
  errno = 0;
  const bool has_failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  // A reader such as `head` has what it needs and has closed the pipe.
  pollfd pipe{STDOUT_FILENO, POLLOUT, 0};
  if (!has_failed || errno == EPIPE || (::poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0)) return;
  const std::string reason = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  throw support::Error(support::ErrorKind::system, "standard output: cannot be written completely" + reason +
                                                       "; free some space, or redirect the output to another disk");
}

}  // namespace tenon::host
