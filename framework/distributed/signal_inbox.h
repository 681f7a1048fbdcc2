// Signals as something to wait for among other things, while the processes of a run are watched over.
#pragma once

#include <signal.h>

#include <array>
#include <optional>

#include "framework/support/file_descriptor.h"

namespace tenon::distributed {

struct ReceivedSignal {
  int number;
  // Ctrl-C: the terminal has sent it to the whole foreground group, not to this process alone.
  bool is_from_terminal;
};

// While it lives, SIGINT, SIGTERM, SIGHUP (where it was not ignored, as nohup does), SIGUSR1 and SIGCHLD are put here,
// and SIGPIPE is ignored. REQUIRES: one at a time.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  int descriptor() const { return from_.number(); }  // readable where something has arrived
  std::optional<ReceivedSignal> take();

  // What the signals did before. Of a forked child, before it runs its program.
  void restore() const noexcept;

 private:
  struct Replaced {
    int number;
    struct sigaction before;
  };

  support::FileDescriptor from_;
  support::FileDescriptor to_;
  std::array<Replaced, 6> replaced_;
};

}  // namespace tenon::distributed
