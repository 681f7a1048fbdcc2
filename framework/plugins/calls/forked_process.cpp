#include "framework/plugins/calls/forked_process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <new>
#include <string>

#include "framework/plugins/calls/guard.h"
#include "framework/support/error.h"

namespace tenon::plugins::detail {

std::atomic<bool> has_forked{false};

namespace {

// Memory that this process shares with those that it forks.
struct ForkReport {
  std::atomic<bool> is_written{false};
  char text[1024] = {};
};

bool is_forked_in_plugin = false;
ForkReport* fork_report = nullptr;

bool is_in_plugin() { return breadcrumb().component || breadcrumb().file; }

void note_fork() {
  if (is_in_plugin()) has_forked = true;
}

void note_forked_process() {
  if (!is_in_plugin()) return;
  has_forked = true;
  is_forked_in_plugin = true;
}

struct ForkHandlers {
  ForkHandlers() {
    void* const memory = mmap(nullptr, sizeof(ForkReport), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) fork_report = new (memory) ForkReport;
    pthread_atfork(nullptr, note_fork, note_forked_process);
  }
};
const ForkHandlers fork_handlers;

// `place`: "dataset \"forking\" of plugin forking 0.1.0, get". `when`: empty, or " while it was opened".
void check_forks_in(const std::string& place, const char* when) {
  if (is_forked_in_plugin) {
    if (fork_report) {
      std::snprintf(fork_report->text, sizeof fork_report->text,
                    "%.*s: returned in a process that it had created with fork()%s",
                    static_cast<int>(sizeof fork_report->text / 2), place.c_str(), when);
      fork_report->is_written = true;
    }
    _exit(static_cast<int>(support::ErrorKind::plugin));
  }
  if (fork_report && fork_report->is_written.exchange(false))
    throw support::Error(support::ErrorKind::plugin,
                         std::string(fork_report->text) +
                             "; expected this process to call exec() or _exit(): use threads, or posix_spawn() for "
                             "another program");
}

}  // namespace

void check_forks(const Component& component, const char* function) {
  check_forks_in(component.describe() + ", " + function, "");
}

void check_forks_of_opening(const std::filesystem::path& file) {
  if (has_forked) check_forks_in(file.string(), " while it was opened");
}

}  // namespace tenon::plugins::detail
