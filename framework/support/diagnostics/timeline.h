// Records what each thread does: the stages of training, reading samples, writing a checkpoint. While recording is off,
// the cost is a check of one flag.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenon::support {

using TimelineClock = std::chrono::steady_clock;

struct TimelineSpan {
  std::string name;
  int64_t thread;  // thread ID of the system
  TimelineClock::time_point start;
  TimelineClock::time_point end;
};

struct TimelineThread {
  int64_t thread;
  std::string name;  // "tenon-data-0"
};

struct Timeline {
  std::vector<TimelineSpan> spans;  // ordered by end
  std::vector<TimelineThread> threads;
};

// There is one timeline per process. All functions may be called from any thread.
void start_timeline();
bool is_timeline_on();
void add_to_timeline(std::string name, TimelineClock::time_point start, TimelineClock::time_point end);
// Returns the spans since start_timeline().
Timeline stop_timeline();

// Records the duration of a scope.
class TimelineScope {
 public:
  explicit TimelineScope(const char* name) : name_(is_timeline_on() ? name : nullptr) {
    if (name_) start_ = TimelineClock::now();
  }
  ~TimelineScope() {
    if (name_) add_to_timeline(name_, start_, TimelineClock::now());
  }
  TimelineScope(const TimelineScope&) = delete;
  TimelineScope& operator=(const TimelineScope&) = delete;

 private:
  const char* name_;  // null: not recording
  TimelineClock::time_point start_;
};

}  // namespace tenon::support
