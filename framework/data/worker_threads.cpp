#include "framework/data/worker_threads.h"

#include <pthread.h>

#include <cstdio>
#include <string>
#include <system_error>

#include "framework/support/diagnostics/error.h"
#include "framework/support/process/signals_blocked.h"

namespace tenon::data {
namespace {

void name_this_thread(uint64_t id) {
  char name[16];  // the kernel's limit
  std::snprintf(name, sizeof name, "tenon-data-%u", static_cast<unsigned>(id % 10000));
  pthread_setname_np(pthread_self(), name);
}

}  // namespace

void WorkerThreads::start(int64_t count, const std::function<void(uint64_t id)>& body) {
  const support::SignalsBlocked blocked;
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
