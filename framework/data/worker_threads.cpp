#include "framework/data/worker_threads.h"

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <string>
#include <system_error>

#include "framework/support/error.h"

namespace tenon::data {
namespace {

// Signals to the process (Ctrl-C, SIGTERM from a scheduler) are for the training thread. Signals of faults stay
// enabled, so that the handler reports a crash inside a plugin.
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

void name_this_thread(uint64_t id) {
  char name[16];  // the kernel's limit
  std::snprintf(name, sizeof name, "tenon-data-%u", static_cast<unsigned>(id % 10000));
  pthread_setname_np(pthread_self(), name);
}

}  // namespace

void WorkerThreads::start(int64_t count, const std::function<void(uint64_t id)>& body) {
  const SignalsBlocked blocked;  // threads inherit the signal mask
  try {
    for (uint64_t id = 0; id < static_cast<uint64_t>(count); ++id) {
      threads_.emplace_back([body, id] {
        name_this_thread(id);
        body(id);
      });
    }
  } catch (const std::system_error& error) {
    throw support::Error(support::ErrorKind::system,
                         "data.workers is " + std::to_string(count) + ", but the system allowed only " +
                             std::to_string(threads_.size()) + " threads to start (" + error.what() +
                             "); use fewer workers, or raise the limits of processes (ulimit -u) and of memory (ulimit "
                             "-v)");
  }
}

void WorkerThreads::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace tenon::data
