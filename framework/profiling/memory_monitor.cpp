#include "framework/profiling/memory_monitor.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <atomic>

namespace tenon::profiling {

// LibTorch calls it for every allocation of threads with this reporter. The threads of backward inherit it.
class MemoryMonitor::Reporter : public c10::MemoryReportingInfoBase {
 public:
  explicit Reporter(const c10::Device& device) : device_(device) {}

  void reportMemoryUsage(void*, int64_t size, size_t, size_t, c10::Device device) override {
    if (device.type() != device_.type()) return;
    const int64_t held = held_ += size;
    int64_t peak = peak_;
    while (held > peak && !peak_.compare_exchange_weak(peak, held)) {
    }
  }

  bool memoryProfilingEnabled() const override { return true; }

  int64_t held() const { return held_; }
  int64_t peak() const { return peak_; }

 private:
  c10::Device device_;
  std::atomic<int64_t> held_{0};
  std::atomic<int64_t> peak_{0};
};

class MemoryMonitor::Installed {
 public:
  explicit Installed(const std::shared_ptr<Reporter>& reporter)
      : guard_(c10::DebugInfoKind::PROFILER_STATE, reporter) {}

 private:
  c10::DebugInfoGuard guard_;
};

MemoryMonitor::MemoryMonitor(const c10::Device& device)
    : reporter_(std::make_shared<Reporter>(device)), installed_(std::make_unique<Installed>(reporter_)) {}

MemoryMonitor::~MemoryMonitor() = default;

int64_t MemoryMonitor::held() const { return reporter_->held(); }

int64_t MemoryMonitor::peak() const { return reporter_->peak(); }

}  // namespace tenon::profiling
