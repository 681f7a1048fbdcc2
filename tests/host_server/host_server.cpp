// Starts hosts for the tests by fork(2). LibTorch's constructors take most of the time of a short run of the host; a
// process that has loaded LibTorch and forks for each run saves them:
//
//   LD_PRELOAD=host_server.so TENON_SERVE_HOSTS=SOCKET bin/host
//
// Replaces main() of the program if TENON_SERVE_HOSTS is set. Each connection to the Unix socket is one run, see
// protocol.h. The run is a separate process, which calls the program's main() with the folder, files, environment and
// arguments of the request. The response is the process's number and then its wait status. LibTorch is loaded with the
// server's environment, so tests that concern the start of the program start the program itself.
#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "host/program/engine.h"
#include "host/program/process_start.h"
#include "tests/host_server/protocol.h"

using namespace tenon::host_server;

namespace {

using Main = int (*)(int, char**, char**);

Main program_main = nullptr;

void fail(const char* what) {
  std::perror(what);
  _exit(1);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the exit code of main(); the caller returns it to the C library, which runs the destructors.
int run(Request& request) {
  if (chdir(request.folder.c_str()) != 0) fail(request.folder.c_str());
  // Received descriptors are above the server's standard streams.
  for (int target = 0; target < 3; ++target) dup2(request.files[static_cast<size_t>(target)], target);
  close_range(3, ~0U, 0);
  prctl(PR_SET_NAME, "host");
  // Not destroyed, because destructors of libraries read the environment.
  static auto& variables = *new std::vector(pointers_to(request.environment));
  static auto& arguments = *new std::vector(pointers_to(request.arguments));
  environ = variables.data();
  program_invocation_name = arguments[0];
  const char* const slash = std::strrchr(arguments[0], '/');
  program_invocation_short_name = const_cast<char*>(slash ? slash + 1 : arguments[0]);
  return program_main(static_cast<int>(request.arguments.size()), arguments.data(), environ);
}

// Handles one connection in a separate process. Returns only in the process of the run.
int handle(int connection) {
  signal(SIGCHLD, SIG_DFL);
  setpgid(0, 0);
  static auto& request = *new Request;
  if (!receive(connection, request)) _exit(1);
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) return run(request);
  for (const int file : request.files) close(file);
  const int32_t number = child;
  if (!send_bytes(connection, &number, sizeof number)) _exit(1);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  const int32_t response = status;
  _exit(send_bytes(connection, &response, sizeof response) ? 0 : 1);
}

// main() opens the same libraries again, which costs nothing.
void load_engine() {
  using namespace tenon::program;
  set_up_heap(environ);
  const WaitPolicy policy;
  const char* const given = std::getenv("TENON_LIBTORCH");
  open_engine(find_engine(find_prefix(find_program_file()), given ? given : ""));
}

int serve(int, char**, char**) {
  load_engine();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, std::getenv("TENON_SERVE_HOSTS"), sizeof address.sun_path - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, SOMAXCONN) != 0) {
    fail(address.sun_path);
  }
  // Waits for the processes that have ended, so that their CPU time counts in that of the server.
  signal(SIGCHLD, [](int) {
    const int before = errno;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    errno = before;
  });
  while (true) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) continue;
    const pid_t child = fork();
    if (child == 0) return handle(connection);
    close(connection);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int __libc_start_main(Main main, int count, char** arguments,
                                                                        void (*init)(), void (*fini)(),
                                                                        void (*loader_fini)(), void* stack) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  program_main = main;
  return start(std::getenv("TENON_SERVE_HOSTS") ? serve : main, count, arguments, init, fini, loader_fini, stack);
}
