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

// A connection to the store, for keys that only the ranks of this launch use.
struct Rendezvous {
  c10::intrusive_ptr<c10d::Store> store;
  std::string prefix;
};

// Connects to the store. Rank 0 also serves it, unless the launcher does. It listens on loopback if all ranks are on
// one machine, otherwise only on `interface`. Throws Error(configuration) if the port is in use, the interface has no
// address, or the store does not answer within `timeout`, and Error(rank_lost) if a rank does not join a launcher's
// store.
Rendezvous connect_store(const World& world, const std::string& interface, std::chrono::milliseconds timeout);

// Opens another connection to the same store and keys, for another thread.
c10::intrusive_ptr<c10d::Store> reconnect(const World& world, const Rendezvous& first,
                                          std::chrono::milliseconds timeout);

}  // namespace tenon::distributed
