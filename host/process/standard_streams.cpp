#include "host/process/standard_streams.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::host {

bool open_standard_streams() {
  bool was_closed = false;
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    was_closed = true;
    // open() returns the lowest free descriptor, which is this one.
    static_cast<void>(support::retry_interrupted([] { return open("/dev/null", O_RDWR); }));
  }
  return was_closed;
}

void restore_standard_streams() {
  if (open_standard_streams())
    support::log_warning(
        "a plugin closed a standard stream (descriptor 0, 1 or 2); what the host reads from or writes to it is lost: "
        "find the plugin with host validate --check keeps-descriptors, and let it close only what it opened");
}

void flush_standard_output() {
  errno = 0;
  const bool has_failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!has_failed) return;
  const std::string reason = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  throw support::Error(support::ErrorKind::system, "standard output: cannot be written completely" + reason +
                                                       "; free some space, or redirect the output to another disk");
}

}  // namespace tenon::host
