#include "framework/distributed/launch/loopback_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "framework/support/diagnostics/error.h"

namespace tenon::distributed {

LoopbackSocket listen_on_loopback() {
  support::FileDescriptor descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const int number = descriptor.number();
  const bool listens = descriptor.is_open() && bind(number, generic, length) == 0 && listen(number, SOMAXCONN) == 0 &&
                       getsockname(number, generic, &length) == 0;
  if (!listens)
    throw support::Error(support::ErrorKind::system,
                         "127.0.0.1: cannot listen on any port: {}; expected a port for the rendezvous of the ranks",
                         std::strerror(errno));
  return {std::move(descriptor), ntohs(address.sin_port)};
}

}  // namespace tenon::distributed
