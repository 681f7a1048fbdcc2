#include "framework/data/worker_threads.h"

#include <pthread.h>

#include <system_error>

#include "framework/support/diagnostics/error.h"
#include "framework/support/process/signals_blocked.h"
#include "framework/support/text/format.h"

namespace tenon::data {

void WorkerThreads::start(int64_t count, const std::function<void(uint64_t id)>& body) {
  const support::SignalsBlocked blocked;
  try {
    for (uint64_t id = 0; id < static_cast<uint64_t>(count); ++id) {
      threads_.emplace_back([body, id] {
        // The kernel's limit is 15 characters.
        pthread_setname_np(pthread_self(), fmt::format("tenon-data-{}", id % 10000).c_str());
        body(id);
      });
    }
  } catch (const std::system_error& error) {
    throw support::Error(support::ErrorKind::system,
                         "data.workers is {}, but the system allowed only {} threads to start ({}); use fewer workers, "
                         "or raise the limits of processes (ulimit -u) and of memory (ulimit -v)",
                         count, threads_.size(), error.what());
  }
}

void WorkerThreads::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace tenon::data
