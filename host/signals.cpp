#include "host/signals.h"

#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "framework/plugins/guard.h"
#include "framework/support/error.h"

namespace tenon::host {

namespace {

void handle(int signal, void (*handler)(int), int flags = SA_RESTART) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

std::atomic<int> stop_signal_number{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

std::atomic<bool> save_is_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void note_save(int) { save_is_requested = true; }

// Time of the first stop request in milliseconds; 0: none.
std::atomic<int64_t> stop_requested_ms{0};
static_assert(std::atomic<int64_t>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000 + 1;  // never 0
}

// A stop request often arrives twice: timeout(1) and shells signal the process and then its whole group.
constexpr int64_t kSameRequestMs = 1000;

void note_stop(int signal) {
  // A single exchange is needed: another thread may handle the second signal at the same time as the first one.
  const int64_t now = now_ms();
  int64_t requested = 0;
  if (stop_requested_ms.compare_exchange_strong(requested, now)) {
    stop_signal_number = signal;
    return;
  }
  if (now - requested < kSameRequestMs) return;
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// Uses only what a signal handler may call: write(2), and strings that do not change after the catalogue was opened.
void print(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // no output left
}

void print(int64_t number) {
  char digits[24];
  char* first = digits + sizeof digits - 1;
  *first = '\0';
  for (uint64_t rest = number < 0 ? 0 : static_cast<uint64_t>(number); first == digits + sizeof digits - 1 || rest > 0;
       rest /= 10)
    *--first = static_cast<char>('0' + rest % 10);
  print(first);
}

// Prints "plugins/digits.so, dataset digits, function get, train sample 17".
void print(const plugins::Breadcrumb& place) {
  print(place.component->plugin->file.c_str());
  print(", ");
  print(config::to_string(place.component->schema.kind));
  print(" ");
  print(place.component->schema.id.c_str());
  print(", function ");
  print(place.function);
  if (place.at.unit) {
    print(", ");
    print(place.at.unit);
    print(" ");
    print(place.at.number);
  }
}

// Reports exit() in a plugin. Without this handler the run would appear to have succeeded.
void report_exit() {
  const plugins::Breadcrumb& place = plugins::breadcrumb();
  if (!place.component && !place.file) return;
  print("\nerror: exit() was called in plugin ");
  if (place.component)
    print(place);
  else
    print(place.file);
  print("; a plugin must return a status and never end the process\n");
  _exit(static_cast<int>(support::ErrorKind::plugin));
}

void report_crash(int signal) {
  const plugins::Breadcrumb& place = plugins::breadcrumb();
  print("\nerror: the process crashed with ");
  print(signal == SIGSEGV  ? "SIGSEGV (invalid memory access)"
        : signal == SIGBUS ? "SIGBUS (invalid memory access)"
        : signal == SIGILL ? "SIGILL (illegal instruction)"
        : signal == SIGFPE ? "SIGFPE (arithmetic error)"
                           : "SIGABRT (abort)");
  if (place.component) {
    print(" in plugin ");
    print(place);
    print("\n");
  } else if (place.file) {
    print(" in plugin ");
    print(place.file);
    print(
        " while it was opened: check its entry function and the tables that it returns, such as a list that is shorter "
        "than its count"
        "\n");
  } else {
    print(" outside of any plugin's function\n");
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void catch_stop_signals() {
  for (const int signal : {SIGINT, SIGTERM}) handle(signal, note_stop);
  // SIGHUP: the terminal was closed. Under nohup the signal stays ignored.
  struct sigaction inherited {};
  sigaction(SIGHUP, nullptr, &inherited);
  if (inherited.sa_handler != SIG_IGN) handle(SIGHUP, note_stop);
  // A closed output or a limit on file sizes must not end the run: write() reports both.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
}

const std::atomic<int>& stop_signal() { return stop_signal_number; }

void catch_save_signal() { handle(SIGUSR1, note_save); }

std::atomic<bool>& save_signal() { return save_is_requested; }

void report_crashes() {
  std::atexit(report_exit);
  // The handler has a separate stack, for a stack overflow on the main thread.
  static char stack[64 * 1024];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    handle(signal, report_crash, SA_ONSTACK | SA_NODEFER | SA_RESETHAND);
}

}  // namespace tenon::host
