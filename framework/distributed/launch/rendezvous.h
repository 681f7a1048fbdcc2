// The rendezvous of the ranks: the key-value store that rank 0 or torchrun's agent serves over TCP.
#pragma once

#include <chrono>
#include <string>

#include <c10/util/intrusive_ptr.h>

#include "framework/distributed/launch/world.h"

namespace c10d {
class Store;
}

namespace tenon::distributed {

// Connects to the store. Rank 0 also serves it, unless the launcher does. It listens on loopback if all ranks are on
// one machine, otherwise only on `interface`. Throws Error(configuration) if the port is in use, the interface has no
// address, or the store does not answer within `timeout`.
c10::intrusive_ptr<c10d::Store> connect_store(const World& world, const std::string& interface,
                                              std::chrono::milliseconds timeout);

// Opens another connection to the same store, for another thread.
c10::intrusive_ptr<c10d::Store> reconnect(const World& world, std::chrono::milliseconds timeout);

}  // namespace tenon::distributed
