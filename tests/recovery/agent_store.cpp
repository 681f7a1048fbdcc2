// Prints a port. With the argument "serve" it serves a store there until it is killed, like the agent of torchrun.
// Otherwise the port is free, for the store of rank 0.
#include <torch/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

int main(int argc, char** argv) {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  std::printf("%d\n", store->getPort());
  std::fflush(stdout);
  while (argc > 1 && std::strcmp(argv[1], "serve") == 0) pause();
}
