// Where the ranks of a run find each other: the key-value store that rank 0, or torchrun's agent, serves over TCP.
#pragma once

#include <chrono>
#include <string>

#include <c10/util/intrusive_ptr.h>

#include "framework/distributed/world.h"

namespace c10d {
class Store;
}

namespace tenon::distributed {

// Connects to the store; on rank 0 serves it too, unless the launcher does. It listens on loopback where all ranks are
// on one machine, else on `interface` alone. Throws Error(configuration) where the port is taken, the interface has no
// address, or nobody answers within `timeout`.
c10::intrusive_ptr<c10d::Store> connect_store(const World& world, const std::string& interface,
                                              std::chrono::milliseconds timeout);

// A further connection to the same store, for another thread.
c10::intrusive_ptr<c10d::Store> connect_again(const World& world, std::chrono::milliseconds timeout);

}  // namespace tenon::distributed
