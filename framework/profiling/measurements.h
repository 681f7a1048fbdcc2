// Measurements of time and memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <c10/core/Device.h>

namespace c10 {
class DebugInfoGuard;
}

namespace tenon::profiling {

// Statistics in seconds.
struct Latency {
  double median = 0;
  double tenth = 0;      // 10th percentile
  double ninetieth = 0;  // 90th percentile
  double least = 0;
};

// Computes the statistics with nearest-rank percentiles. REQUIRES: `seconds` is not empty.
Latency summarize(std::vector<double> seconds);

// Runs `work` `warm_up` times, then `repeats` times (at least 1). Synchronises with the device before and after each
// run.
Latency time_repeated(const c10::Device& device, int64_t warm_up, int64_t repeats, const std::function<void()>& work);

// Measures tensor memory on one device in bytes, relative to the start. Counts allocations of this thread, and those of
// backward on its behalf. On the CPU, LibTorch does not report the release of memory that was allocated before the
// start.
class MemoryMonitor {
 public:
  explicit MemoryMonitor(const c10::Device& device);
  ~MemoryMonitor();
  MemoryMonitor(const MemoryMonitor&) = delete;
  MemoryMonitor& operator=(const MemoryMonitor&) = delete;

  int64_t held() const;  // current bytes
  int64_t peak() const;  // peak bytes so far

 private:
  class Reporter;
  std::shared_ptr<Reporter> reporter_;
  std::unique_ptr<c10::DebugInfoGuard> installed_;
};

}  // namespace tenon::profiling
