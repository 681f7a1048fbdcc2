#include "framework/pipeline/threads/require_threads.h"

#include <pthread.h>

#include <cstring>
#include <latch>
#include <string>
#include <vector>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

// Allocates nothing: the first allocation of a thread reserves address space for all later ones.
void* wait_for_end(void* end) {
  static_cast<std::latch*>(end)->wait();
  return nullptr;
}

}  // namespace

void require_threads(int64_t count) {
  std::latch end(1);
  std::vector<pthread_t> threads;
  threads.reserve(static_cast<size_t>(count));
  int error = 0;
  while (error == 0 && static_cast<int64_t>(threads.size()) < count) {
    pthread_t thread{};
    error = pthread_create(&thread, nullptr, wait_for_end, &end);
    if (error == 0) threads.push_back(thread);
  }
  end.count_down();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  if (error == 0) return;
  throw support::Error(support::ErrorKind::system,
                       "LibTorch needs " + support::format_count(count, "thread") + ", but the system allowed only " +
                           std::to_string(threads.size()) + " to start (" + std::strerror(error) +
                           "); set a smaller run.threads, or raise the limits of processes (ulimit -u) and of memory "
                           "(ulimit -v)");
}

}  // namespace tenon::pipeline
