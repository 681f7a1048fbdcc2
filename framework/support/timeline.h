// What happens when on which thread, as long as somebody wants to know: the stages of training, samples being read, a
// checkpoint being written. Costs a look at one flag while nobody does.
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
  int64_t thread;  // the system's number for it
  TimelineClock::time_point start;
  TimelineClock::time_point end;
};

struct TimelineThread {
  int64_t thread;
  std::string name;  // "tenon-data-0"
};

struct Timeline {
  std::vector<TimelineSpan> spans;  // in the order in which they ended
  std::vector<TimelineThread> threads;
};

// One for the process. All of it may be called from any thread.
void start_timeline();
bool is_timeline_on();
void add_to_timeline(std::string name, TimelineClock::time_point start, TimelineClock::time_point end);
// What was added since start_timeline().
Timeline stop_timeline();

// The time of a scope.
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
  const char* name_;  // null: nobody wants it
  TimelineClock::time_point start_;
};

}  // namespace tenon::support
