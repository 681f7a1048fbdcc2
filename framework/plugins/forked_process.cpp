#include "framework/plugins/forked_process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <string>

#include "framework/plugins/guard.h"
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

void note_fork() {
  if (breadcrumb().component) has_forked = true;
}

void note_forked_process() {
  if (!breadcrumb().component) return;
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

}  // namespace

void check_forks(const Component& component, const char* function) {
  if (is_forked_in_plugin) {
    if (fork_report) {
      std::snprintf(fork_report->text, sizeof fork_report->text, "%s, %s", component.describe().c_str(), function);
      fork_report->is_written = true;
    }
    _exit(static_cast<int>(support::ErrorKind::plugin));
  }
  if (fork_report && fork_report->is_written.exchange(false))
    throw support::Error(support::ErrorKind::plugin,
                         std::string(fork_report->text) +
                             ": returned in a process that it had created with fork(); expected this process to call "
                             "exec() or _exit(): use threads, or posix_spawn() for another program");
}

}  // namespace tenon::plugins::detail
