// Standard input, output and error of the process.
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "framework/support/files/file_descriptor.h"

namespace tenon::support {

// Opens /dev/null on each of the descriptors 0 to 2 that is closed, and returns whether one was closed. Otherwise the
// next file that the host opens would get the descriptor, and the terminal output would be written into that file. The
// program calls it first.
inline bool open_standard_streams() {
  bool was_closed = false;
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    was_closed = true;
    // open() returns the lowest free descriptor, which is this one.
    static_cast<void>(retry_interrupted([] { return open("/dev/null", O_RDWR); }));
  }
  return was_closed;
}

}  // namespace tenon::support
