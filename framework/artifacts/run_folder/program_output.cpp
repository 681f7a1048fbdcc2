#include "framework/artifacts/run_folder/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <thread>

#include "framework/support/files/file_descriptor.h"

namespace tenon::artifacts {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> make_environment(const std::vector<std::string>& settings) {
  std::vector<std::string> environment = settings;
  for (char** variable = ::environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const auto name = text.substr(0, text.find('=') + 1);
    bool is_set = false;
    for (const auto& setting : settings) is_set |= setting.starts_with(name);
    if (!is_set) environment.emplace_back(text);
  }
  return environment;
}

std::vector<char*> make_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the process, or -1. It gets a new process group, so that its child processes can be killed with it. It also
// gets default signal handling, because the host may have blocked or ignored signals.
pid_t start_program(const std::vector<std::string>& command, const std::vector<std::string>& settings, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&actions) != 0) return -1;
  if (::posix_spawnattr_init(&attributes) != 0) {
    ::posix_spawn_file_actions_destroy(&actions);
    return -1;
  }
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const auto environment = make_environment(settings);
  pid_t process = -1;
  const int error = ::posix_spawnp(&process, command[0].c_str(), &actions, &attributes, make_pointers(command).data(),
                                   make_pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? process : -1;
}

// Reads to the end of the output. False on a timeout. Output beyond the limit is read and discarded, so that the
// program does not block.
bool read_until(Clock::time_point deadline, int input, size_t limit, std::string& text) {
  std::array<char, size_t{16} << 10> piece;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wait{input, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = ::read(input, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    text.append(piece.data(), std::min<size_t>(static_cast<size_t>(count), limit - text.size()));
  }
}

// Returns true if the process exited with status 0 before the deadline. Otherwise it is killed. It is always reaped.
bool end_well(pid_t process, Clock::time_point deadline) {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    if (Clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(-process, SIGKILL);
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return false;
}

}  // namespace

std::optional<std::string> read_program_output(const std::vector<std::string>& command,
                                               const std::vector<std::string>& settings,
                                               std::chrono::milliseconds timeout, size_t limit) {
  const auto deadline = Clock::now() + timeout;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const support::FileDescriptor input(ends[0]);
  support::FileDescriptor output(ends[1]);
  const pid_t process = start_program(command, settings, output.number());
  output.close();
  if (process < 0) return std::nullopt;
  std::string text;
  const bool is_complete = read_until(deadline, input.number(), limit, text);
  const bool is_good = end_well(process, is_complete ? deadline : Clock::now());
  return is_complete && is_good ? std::optional(text) : std::nullopt;
}

}  // namespace tenon::artifacts
