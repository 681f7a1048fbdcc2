// Starts threads that leave the signals of the process to the main thread.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace tenon::support {

// While an object exists, this thread and the threads that it starts receive no signals of the process (Ctrl-C, SIGTERM
// from a scheduler); a thread keeps the mask that it inherits. Signals of faults stay enabled, so that the handler
// reports a crash.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tenon::support
