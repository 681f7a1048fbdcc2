// Finds calls of plugins that do not return, on all threads.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tenon::components {

// The calls themselves read no clock: this class compares the running calls at two points in time. All functions may be
// called from any thread.
class CallMonitor {
 public:
  using Duration = std::chrono::milliseconds;

  struct LongCall {
    std::string place;  // `dataset "digits" of plugin digits 0.1.0, function get, train sample 17`
    Duration lasted;
    pid_t thread;
    std::string seconds() const;  // lasted, rounded
    std::string where() const;    // "on the main thread", "on thread tenon-data-0"
    // `dataset "digits" of plugin digits 0.1.0, function get, train sample 17, has not returned for 30 s (on thread
    // tenon-data-0)`
    std::string describe() const;
  };

  // A call is reported when it has lasted `first_report`, and then each time its duration has doubled.
  explicit CallMonitor(Duration first_report) : first_report_(first_report) {}

  // Reads the running call of each thread. `passed`: the time since the last update.
  void update(Duration passed);

  // Returns the calls that are due for a report since the last update, the longest first.
  std::vector<LongCall> take_due();

  // Returns the calls that have lasted at least this long, the longest first.
  std::vector<LongCall> find_calls(Duration at_least) const;

 private:
  struct Seen {
    LongCall call;
    Duration next_report;
    bool is_due = false;
  };

  const Duration first_report_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Seen> seen_;  // by the number of the call
};

// Whether the thread is the one that runs main(), which trains.
bool is_main_thread(pid_t thread);

}  // namespace tenon::components
