#include "framework/components/calls/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::components::detail {

std::atomic<bool> has_forked{false};

namespace {

using Clock = std::chrono::steady_clock;

// A forked process that is going to return usually does so at about the same time as the process that called fork().
// This is how long a call waits for it, so that this call fails and not a later one.
constexpr std::chrono::seconds kReturnTime{5};

constexpr size_t kMostFollowed = 64;

// Memory that this process shares with those that it forks.
struct ForkReport {
  std::atomic<bool> is_written{false};
  char text[1024] = {};
};

// A forked process holds the other end of the pipe until it returns from the plugin, calls exec() or ends.
struct ForkedProcess {
  int pipe;
  std::string place;  // of the call of fork()
};

bool is_forked_in_plugin = false;
ForkReport* fork_report = nullptr;

// Never destroyed, because plugins may be called while the process exits.
struct Forks {
  std::mutex mutex;  // also held during a plugin's fork(), so that no process inherits the pipe of another one
  std::array<int, 2> pipe{-1, -1};
  std::vector<ForkedProcess> processes;  // that are still in the plugin
  bool has_warned = false;               // that a process stays in the plugin
};
Forks& forks() {
  static Forks* const all = new Forks;
  return *all;
}

bool is_in_plugin() { return breadcrumb().component || breadcrumb().file; }

// Only for a process that forks in a plugin: hosts that are forked from one process must not share their reports.
void share_report() {
  void* const memory = mmap(nullptr, sizeof(ForkReport), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) fork_report = new (memory) ForkReport;
}

// Without a pipe, such as at the limit of open files, only the report of a process that has returned is read.
void prepare_fork() {
  if (!is_in_plugin()) return;
  forks().mutex.lock();
  if (!fork_report) share_report();
  const bool is_followed = forks().processes.size() < kMostFollowed;
  if (!is_followed || pipe2(forks().pipe.data(), O_CLOEXEC) != 0) forks().pipe = {-1, -1};
}

void note_fork() {
  if (!is_in_plugin()) return;
  has_forked = true;
  const auto [reading, writing] = std::exchange(forks().pipe, {-1, -1});
  if (writing >= 0) close(writing);
  if (reading >= 0) forks().processes.push_back({reading, describe(breadcrumb())});
  forks().mutex.unlock();
}

void note_forked_process() {
  if (!is_in_plugin()) return;
  has_forked = true;
  is_forked_in_plugin = true;
  if (forks().pipe[0] >= 0) close(forks().pipe[0]);
  for (const ForkedProcess& other : forks().processes) close(other.pipe);
  forks().processes.clear();
  forks().mutex.unlock();
}

struct ForkHandlers {
  ForkHandlers() { pthread_atfork(prepare_fork, note_fork, note_forked_process); }
};
const ForkHandlers fork_handlers;

// `place`: "dataset \"forking\" of plugin forking 0.1.0, get". `when`: empty, or " while it was opened".
[[noreturn]] void end_forked_process(const std::string& place, const char* when) {
  if (fork_report) {
    std::snprintf(fork_report->text, sizeof fork_report->text,
                  "%.*s: returned in a process that it had created with fork()%s",
                  static_cast<int>(sizeof fork_report->text / 2), place.c_str(), when);
    fork_report->is_written = true;
  }
  _exit(static_cast<int>(support::ErrorKind::plugin));
}

// Whether the forked process has left the plugin, or does so before the deadline.
bool has_left_plugin(const ForkedProcess& process, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd end{process.pipe, POLLIN, 0};
    const int count = poll(&end, 1, left > 0 ? static_cast<int>(left) : 0);
    if (count >= 0 || errno != EINTR) return count != 0;
  }
}

void wait_for_forked_processes() {
  const std::lock_guard lock(forks().mutex);
  const Clock::time_point deadline = Clock::now() + (forks().has_warned ? std::chrono::seconds(0) : kReturnTime);
  std::erase_if(forks().processes, [&](const ForkedProcess& process) {
    const bool has_left = has_left_plugin(process, deadline);
    if (has_left) close(process.pipe);
    if (!has_left && !std::exchange(forks().has_warned, true))
      support::log_warning_of_any_rank(
          process.place +
          ": a process that it created with fork() still runs in the plugin; expected it to call exec() or _exit() at "
          "once, because it has a copy of this process's memory and of its files: use threads");
    return has_left;
  });
}

}  // namespace

void check_forked_processes() {
  if (!has_forked) return;
  wait_for_forked_processes();
  if (fork_report && fork_report->is_written.exchange(false))
    throw support::Error(support::ErrorKind::plugin,
                         std::string(fork_report->text) +
                             "; expected this process to call exec() or _exit(): use threads, or posix_spawn() for "
                             "another program");
}

void check_forks(const Component& component, const char* function) {
  if (is_forked_in_plugin) end_forked_process(component.describe() + ", " + function, "");
  check_forked_processes();
}

void check_forks_of_opening(const std::filesystem::path& file) {
  if (is_forked_in_plugin) end_forked_process(file.string(), " while it was opened");
  check_forked_processes();
}

}  // namespace tenon::components::detail
