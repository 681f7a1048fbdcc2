// Measures the allocations of LibTorch during its lifetime.
#pragma once

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

namespace tenon::profiling {

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
  class Installed;
  std::shared_ptr<Reporter> reporter_;
  std::unique_ptr<Installed> installed_;
};

}  // namespace tenon::profiling
