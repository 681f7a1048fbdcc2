// Receives signals through a descriptor, so that the launcher can poll for them.
#pragma once

#include <signal.h>

#include <array>
#include <optional>

#include "framework/support/files/file_descriptor.h"

namespace tenon::distributed {

struct ReceivedSignal {
  int number;
  // Ctrl-C: the terminal has sent it to the whole foreground group, not only to this process.
  bool is_from_terminal;
};

// During its lifetime the inbox receives SIGTERM, SIGUSR1, SIGUSR2 and SIGCHLD. It receives SIGINT and SIGHUP unless
// the signal was ignored, as by a shell that starts a command with `&`, and by nohup. SIGPIPE is ignored. REQUIRES:
// only one instance at a time.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  int descriptor() const { return from_.number(); }  // readable if a signal has arrived
  std::optional<ReceivedSignal> take();

  // Restores the previous signal handlers. Called in a forked child before exec.
  void restore() const noexcept;

 private:
  struct Replaced {
    int number;
    struct sigaction before;
  };

  support::FileDescriptor from_;
  support::FileDescriptor to_;
  std::array<Replaced, 7> replaced_;
};

}  // namespace tenon::distributed
