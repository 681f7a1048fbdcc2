// A socket that only this machine can reach.
#pragma once

#include <cstdint>

#include "framework/support/file_descriptor.h"

namespace tenon::distributed {

struct LoopbackSocket {
  support::FileDescriptor descriptor;  // listens; closed on exec
  uint16_t port = 0;
};

// On 127.0.0.1, at a port that nobody else has. Throws Error(internal).
LoopbackSocket listen_on_loopback();

}  // namespace tenon::distributed
