#include "host/process/signals.h"

#include <time.h>

#include <csignal>

#include "framework/components/calls/kept_settings.h"

namespace tenon::host {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
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

}  // namespace

void catch_stop_signals() {
  handle(SIGTERM, note_stop);
  // A shell ignores SIGINT for a command that a script starts with `&`, and nohup ignores SIGHUP.
  for (const int signal : {SIGINT, SIGHUP})
    if (!is_ignored(signal)) handle(signal, note_stop);
  // A closed output or a limit on file sizes must not end the run: write() reports both.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  components::record_host_settings();
}

const std::atomic<int>& stop_signal() { return stop_signal_number; }

void catch_save_signal() {
  handle(SIGUSR1, note_save);
  components::record_host_settings();
}

std::atomic<bool>& save_signal() { return save_is_requested; }

}  // namespace tenon::host
