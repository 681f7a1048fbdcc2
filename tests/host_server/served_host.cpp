// A program with the name of the host, for the PATH of scripts: the server at TENON_HOST_SERVER runs the host with the
// folder, environment, arguments and standard streams of this process. Without a server, and where a variable concerns
// the start of the program, replaces itself by the host.
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/host_server/protocol.h"

using namespace tenon::host_server;

namespace {

volatile sig_atomic_t run = 0;

void pass_on(int signal) {
  if (run > 0) kill(run, signal);
}

// Libraries read these when they are loaded.
bool concerns_start(std::string_view variable) {
  for (const std::string_view prefix :
       {"LD_", "OMP_", "GOMP_", "KMP_", "MKL_", "MALLOC_", "GLIBC_", "TORCH_", "ATEN_", "ONEDNN_"})
    if (variable.starts_with(prefix) && variable != "OMP_WAIT_POLICY=passive") return true;
  return false;
}

}  // namespace

int main(int, char** arguments) {
  const char* const server = std::getenv("TENON_HOST_SERVER");
  bool can_serve = server != nullptr;
  for (char** variable = environ; *variable; ++variable) can_serve = can_serve && !concerns_start(*variable);
  if (!can_serve) {
    execv(TENON_BINARY_DIR "/bin/host", arguments);
    std::perror(TENON_BINARY_DIR "/bin/host");
    return 127;
  }
  char folder[PATH_MAX];
  if (!getcwd(folder, sizeof folder)) {
    std::perror("getcwd");
    return 127;
  }
  Request request{folder, {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}, {}, {}};
  for (char** variable = environ; *variable; ++variable) request.environment.emplace_back(*variable);
  for (char** argument = arguments; *argument; ++argument) request.arguments.emplace_back(*argument);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) signal(number, pass_on);
  const int connection = connect_to(server);
  std::optional<int32_t> status;
  if (connection >= 0 && send(connection, request)) {
    run = receive_number(connection).value_or(0);
    status = receive_number(connection);
  }
  if (!status) {
    std::fprintf(stderr, "the server of scripts/test at %s does not respond\n", server);
    return 127;
  }
  if (WIFEXITED(*status)) return WEXITSTATUS(*status);
  signal(WTERMSIG(*status), SIG_DFL);
  raise(WTERMSIG(*status));
  return 128 + WTERMSIG(*status);
}
