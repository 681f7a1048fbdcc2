// Lets waiting OpenMP threads sleep at once while other programs use the cores, and spin otherwise.
//
// At the end of a parallel region a thread waits for the others. If they run on other cores, spinning is the fastest
// way to wait. If one of them waits for a core, a spinning thread occupies it. libgomp has a fixed number of spins, and
// a second, smaller number for the time when more OpenMP threads exist than cores. The limiter switches to the second
// one with idle OpenMP threads. See docs/decisions/0019-waiting-policy.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>

namespace tenon::pipeline {

// Decides from measurements at equal intervals whether waiting threads may spin.
class SpinDecision {
 public:
  // `waiting`: for how long the threads of this process were ready to run but had no core, divided by the interval.
  // Returns whether threads may spin in the next interval.
  bool update(double waiting);

 private:
  bool may_spin_ = true;
  int64_t intervals_ = 0;           // without contention while threads sleep; since the last change while they spin
  int64_t required_intervals_ = 0;  // intervals without contention before threads spin again
};

// Sums the time for which the threads of this process were ready to run but had no core, as the kernel counts it in
// /proc/self/task/*/schedstat.
class CoreWaits {
 public:
  // Returns the nanoseconds since the last call, without those of threads that have started since. 0 if the kernel does
  // not count them.
  int64_t since_last_call();

 private:
  std::map<std::string, int64_t> totals_;  // by thread ID
};

// While an object exists, libgomp has more threads than cores. Its threads then sleep at once when they wait, or spin
// up to 100 times, depending on OMP_WAIT_POLICY. LibTorch must use libgomp.
class SpinLimit {
 public:
  // `threads`: the number of operator threads. Throws Error(system) if threads cannot be started.
  explicit SpinLimit(int64_t threads);

 private:
  std::jthread holder_;  // the master of the idle threads
};

// Starts a thread that measures at intervals of 100 ms and limits spinning accordingly, unless the user has chosen a
// policy (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME, KMP_LIBRARY), there is one operator thread, or LibTorch does
// not use libgomp. Further calls do nothing.
void limit_spinning(int64_t threads);

// Throws Error(system) if this process cannot start `count` more threads. LibTorch's thread pool ignores the error of a
// thread that does not start, and waits for that thread forever.
void require_threads(int64_t count);

}  // namespace tenon::pipeline
