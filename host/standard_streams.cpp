#include "host/standard_streams.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "framework/support/error.h"

namespace tenon::host {

void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    // open() returns the lowest free descriptor, which is this one.
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) static_cast<void>(open("/dev/null", O_RDWR));
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
