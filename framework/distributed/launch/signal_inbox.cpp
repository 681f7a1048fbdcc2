#include "framework/distributed/launch/signal_inbox.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::distributed {
namespace {

// The write end of the pipe; -1: there is no inbox.
std::atomic<int> inbox{-1};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

// The write is atomic, because the data is much smaller than PIPE_BUF.
void put_into_inbox(int number, siginfo_t* info, void*) {
  const int error = errno;
  const ReceivedSignal received{number, number == SIGINT && info->si_code > 0};
  if (write(inbox, &received, sizeof received) < 0) {
    // The pipe is full and already holds thousands of signals, so this one is dropped.
  }
  errno = error;
}

}  // namespace

SignalInbox::SignalInbox()
    : replaced_{
          {{SIGINT, {}}, {SIGTERM, {}}, {SIGHUP, {}}, {SIGUSR1, {}}, {SIGUSR2, {}}, {SIGCHLD, {}}, {SIGPIPE, {}}}} {
  TENON_CHECK(inbox == -1, "a second inbox for signals");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw support::Error(support::ErrorKind::system,
                         std::string("cannot create a pipe for signals: ") + std::strerror(errno));
  from_ = support::FileDescriptor(ends[0]);
  to_ = support::FileDescriptor(ends[1]);
  inbox = to_.number();
  for (Replaced& one : replaced_) {
    struct sigaction action {};
    action.sa_sigaction = put_into_inbox;
    action.sa_flags = SA_SIGINFO | SA_NOCLDSTOP;
    sigemptyset(&action.sa_mask);
    sigaction(one.number, nullptr, &one.before);
    const bool stays_ignored = (one.number == SIGINT || one.number == SIGHUP) && one.before.sa_handler == SIG_IGN;
    if (one.number == SIGPIPE || stays_ignored) {
      action.sa_flags = 0;
      action.sa_handler = SIG_IGN;
    }
    sigaction(one.number, &action, nullptr);
  }
}

SignalInbox::~SignalInbox() {
  restore();
  inbox = -1;
}

std::optional<ReceivedSignal> SignalInbox::take() {
  ReceivedSignal received;
  for (;;) {
    const ssize_t length = read(from_.number(), &received, sizeof received);
    if (length == sizeof received) return received;
    if (length >= 0 || errno != EINTR) return std::nullopt;
  }
}

void SignalInbox::restore() const noexcept {
  for (const Replaced& one : replaced_) sigaction(one.number, &one.before, nullptr);
}

}  // namespace tenon::distributed
