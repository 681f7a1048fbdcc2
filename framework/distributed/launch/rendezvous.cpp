#include "framework/distributed/launch/rendezvous.h"

#include <arpa/inet.h>
#include <c10/util/Logging.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <torch/types.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/digests/sha256.h"

namespace tenon::distributed {

using support::Error;
using support::ErrorKind;

namespace {

std::string name_of(const World& world) { return world.master_address + ":" + std::to_string(world.master_port); }

// An address for bind().
struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  std::string text;
};

Address loopback() {
  Address address;
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(address.bytes);
  ipv4.sin_family = AF_INET;
  ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.size = sizeof ipv4;
  address.text = "127.0.0.1";
  return address;
}

// Prefers IPv4 if the interface has both.
Address address_of(const std::string& interface) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0)
    throw Error(ErrorKind::internal, std::string("cannot read the network interfaces: ") + strerror(errno));
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, freeifaddrs);
  std::set<std::string> names;
  Address found;
  for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
    names.insert(entry->ifa_name);
    if (interface != entry->ifa_name || !entry->ifa_addr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && (family != AF_INET6 || found.size > 0)) continue;
    found.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&found.bytes, entry->ifa_addr, found.size);
    char text[INET6_ADDRSTRLEN] = "";
    const void* number = family == AF_INET
                             ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(entry->ifa_addr)->sin_addr)
                             : &reinterpret_cast<sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    inet_ntop(family, number, text, sizeof text);
    found.text = text;
    if (family == AF_INET) break;
  }
  if (found.size > 0) return found;
  throw Error(ErrorKind::configuration,
              "distributed.interface: \"{}\" is not a network interface of this machine with an address; expected one "
              "of: {}",
              interface, formats::join(names));
}

// Binds to one address, so that no other network can reach the socket.
int listen_on(Address address, uint16_t port) {
  const int family = address.bytes.ss_family;
  const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) throw Error(ErrorKind::internal, std::string("cannot create a socket: ") + strerror(errno));
  // The port of a run that has just ended can be reused immediately.
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET)
    reinterpret_cast<sockaddr_in&>(address.bytes).sin_port = htons(port);
  else
    reinterpret_cast<sockaddr_in6&>(address.bytes).sin6_port = htons(port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0 &&
      ::listen(listener, SOMAXCONN) == 0)
    return listener;
  const int reason = errno;
  close(listener);
  throw Error(
      ErrorKind::configuration,
      "distributed: cannot listen on port {} of {} ({}); expected it to be free for rank 0: another run may use "
      "it; give MASTER_PORT another number",
      port, address.text, strerror(reason));
}

// c10d logs source locations of errors that the host reports as messages.
void silence_c10d() {
  constexpr int kFatal = 3;
  if (!std::getenv("TORCH_CPP_LOG_LEVEL")) FLAGS_caffe2_log_level = kFatal;
}

// A store that listens but does not respond accepts a connection and never answers. c10d's time limits do not cover
// this case.
class TimeLimit {
 public:
  TimeLimit(std::chrono::milliseconds limit, const World& world)
      : thread_([this, limit, world] {
          std::unique_lock lock(mutex_);
          if (passed_.wait_for(lock, limit, [this] { return is_over_; })) return;
          support::log_error(
              fmt::format("distributed: rank {} received no answer from the store of rank 0 at {} within "
                          "distributed.timeout_s; expected rank 0 to serve it: it may hang",
                          world.rank, name_of(world)));
          support::flush_log();
          _exit(static_cast<int>(ErrorKind::rank_lost));
        }) {}
  ~TimeLimit() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    passed_.notify_all();
    thread_.join();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable passed_;
  bool is_over_ = false;
  std::thread thread_;
};

std::string format_time(std::chrono::milliseconds time) { return std::to_string(time.count() / 1000) + " s"; }

c10::intrusive_ptr<c10d::Store> connect(const World& world, c10d::TCPStoreOptions options,
                                        std::chrono::milliseconds timeout) {
  silence_c10d();
  const TimeLimit limit(timeout + std::chrono::seconds(5), world);  // needed only if c10d's has no effect
  options.port = world.master_port;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(world.master_address, options);
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::configuration,
                "distributed: rank {} cannot reach the store of rank 0 at {} within {} ({}); expected rank 0 to listen "
                "there: check that it is running, that address and port are those of its machine, and that no firewall "
                "blocks them",
                world.rank, name_of(world), format_time(timeout), error.what_without_backtrace());
  }
}

// Returns an empty text if there is no such key.
std::string get(c10d::Store& store, const std::string& key) { return store.check({key}) ? store.get_to_str(key) : ""; }

std::string random_text() {
  std::random_device random;
  return std::to_string((uint64_t{random()} << 32) | random());
}

// The ranks of one launch, among the launches of an agent that keeps its store. Each rank writes a random number. Rank
// 0 lists them, and repeats this until every rank has confirmed the list: then none of the numbers is of an earlier
// launch.
class Round {
 public:
  Round(c10d::Store& store, const World& world) : store_(store), world_(world), number_(random_text()) {
    store_.set(key("rank", world_.rank), number_);
  }

  // Returns a text that identifies the launch, once all ranks have the same one; before that an empty text.
  std::string find() {
    if (world_.is_first()) {
      const std::string listed = list_ranks();
      if (listed.empty()) return "";
      if (listed != get(store_, "round")) store_.set("round", listed);
      for (int64_t rank = 1; rank < world_.size; ++rank)
        if (get(store_, key("confirmed", rank)) != listed) return "";
      store_.set(started(listed), std::string("1"));
      return support::sha256(listed);
    }
    const std::string listed = get(store_, "round");
    if (("," + listed).find("," + std::to_string(world_.rank) + "=" + number_ + ",") == std::string::npos) return "";
    if (std::exchange(confirmed_, listed) != listed) store_.set(key("confirmed", world_.rank), listed);
    return get(store_, started(listed)).empty() ? "" : support::sha256(listed);
  }

 private:
  static std::string key(const std::string& name, int64_t rank) { return name + "/" + std::to_string(rank); }
  static std::string started(const std::string& listed) { return "started/" + support::sha256(listed); }

  // "0=12,1=34,"; empty if a rank has not written its number.
  std::string list_ranks() {
    std::string listed;
    for (int64_t rank = 0; rank < world_.size; ++rank) {
      const std::string number = get(store_, key("rank", rank));
      if (number.empty()) return "";
      listed += std::to_string(rank) + "=" + number + ",";
    }
    return listed;
  }

  c10d::Store& store_;
  const World& world_;
  const std::string number_;
  std::string confirmed_;
};

// torchrun does not count a restart because machines have joined or left, and its agent keeps the store.
std::string find_round(const c10::intrusive_ptr<c10d::Store>& store, const World& world,
                       std::chrono::milliseconds timeout) {
  const TimeLimit limit(timeout + std::chrono::seconds(5), world);
  c10d::PrefixStore rounds("rounds", store);
  Round round(rounds, world);
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    if (std::string found = round.find(); !found.empty()) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw Error(ErrorKind::rank_lost,
              "distributed: rank {} of {} waited {} for the other ranks at the store of the launcher, {}; expected all "
              "ranks to start",
              world.rank, world.size, format_time(timeout), name_of(world));
}

}  // namespace

Rendezvous connect_store(const World& world, const std::string& interface, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  if (world.rank == 0 && !world.store_is_launchers) {
    options.isServer = true;
    // Child processes of plugins must not keep the port open.
    if (world.listen_fd >= 0) fcntl(world.listen_fd, F_SETFD, FD_CLOEXEC);
    options.masterListenFd =
        world.listen_fd >= 0
            ? world.listen_fd
            : listen_on(world.is_one_machine() ? loopback() : address_of(interface), world.master_port);
  }
  const auto store = connect(world, options, timeout);
  // A restarted run with the same store needs different keys.
  std::string prefix = "tenon/" + std::to_string(world.attempt);
  if (world.store_is_launchers) prefix += "/" + find_round(store, world, timeout);
  return {c10::make_intrusive<c10d::PrefixStore>(prefix, store), prefix};
}

c10::intrusive_ptr<c10d::Store> reconnect(const World& world, const Rendezvous& first,
                                          std::chrono::milliseconds timeout) {
  return c10::make_intrusive<c10d::PrefixStore>(first.prefix, connect(world, {}, timeout));
}

}  // namespace tenon::distributed
