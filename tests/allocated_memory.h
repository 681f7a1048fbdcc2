// Counts the memory of tensors in a test. To count that of a thread, give it to
//   const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, memory);
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>

namespace tenon {

// The bytes of the tensors that this thread has allocated and not freed, as profilers see them, and their peak.
class AllocatedMemory final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t size, size_t, size_t, c10::Device) override {
    bytes += size;
    peak = std::max(peak, bytes);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t bytes = 0, peak = 0;
};

}  // namespace tenon
