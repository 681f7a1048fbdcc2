// Where the log lines of a thread go in a program that predicts.
#pragma once

#include <tenon/draft/predictor.h>

namespace tenon::predictor {

struct LogTarget {
  decltype(tenon_predictor_options::log) log = nullptr;
  void* context = nullptr;
};

// While it lives, log lines of this thread go to the target; without a target, or if it has no function, they are
// dropped.
class LogScope {
 public:
  explicit LogScope(const LogTarget* target) : before_(current()) { current() = target; }
  ~LogScope() { current() = before_; }
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  static const LogTarget*& current() {
    thread_local const LogTarget* target = nullptr;
    return target;
  }

 private:
  const LogTarget* before_;
};

}  // namespace tenon::predictor
