#include "framework/support/diagnostics/timeline.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <set>

namespace tenon::support {

namespace {

std::atomic<bool> is_on{false};
std::mutex mutex;
std::vector<TimelineSpan> spans;  // protected by the mutex

// The name in the kernel, which stores 15 letters.
std::string read_thread_name(int64_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

void start_timeline() {
  const std::scoped_lock lock(mutex);
  spans.clear();
  is_on = true;
}

bool is_timeline_on() { return is_on.load(std::memory_order_relaxed); }

void add_to_timeline(std::string name, TimelineClock::time_point start, TimelineClock::time_point end) {
  const std::scoped_lock lock(mutex);
  if (is_on) spans.push_back({std::move(name), static_cast<int64_t>(::syscall(SYS_gettid)), start, end});
}

Timeline stop_timeline() {
  const std::scoped_lock lock(mutex);
  is_on = false;
  Timeline timeline{std::exchange(spans, {}), {}};
  std::set<int64_t> threads;
  for (const TimelineSpan& span : timeline.spans) threads.insert(span.thread);
  for (const int64_t thread : threads) timeline.threads.push_back({thread, read_thread_name(thread)});
  return timeline;
}

}  // namespace tenon::support
