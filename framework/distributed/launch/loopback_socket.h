// A listening socket that only this machine can reach.
#pragma once

#include <cstdint>

#include "framework/support/files/file_descriptor.h"

namespace tenon::distributed {

struct LoopbackSocket {
  support::FileDescriptor descriptor;  // listening socket; closed on exec
  uint16_t port = 0;
};

// Listens on a free port of 127.0.0.1. Throws Error(system).
LoopbackSocket listen_on_loopback();

}  // namespace tenon::distributed
