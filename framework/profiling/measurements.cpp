#include "framework/profiling/measurements.h"

#include <c10/core/Allocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "framework/support/diagnostics/check.h"

namespace tenon::profiling {

namespace {

void wait_for(const c10::Device& device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

double time_once(const c10::Device& device, const std::function<void()>& work) {
  wait_for(device);
  const auto start = std::chrono::steady_clock::now();
  work();
  wait_for(device);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Latency summarize(std::vector<double> seconds) {
  TENON_CHECK(!seconds.empty(), "no times");
  std::ranges::sort(seconds);
  const auto at = [&](double fraction) {
    const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(seconds.size())));
    return seconds[std::max<size_t>(rank, 1) - 1];
  };
  return {at(0.5), at(0.1), at(0.9), seconds.front()};
}

Latency time_repeated(const c10::Device& device, int64_t warm_up, int64_t repeats, const std::function<void()>& work) {
  for (int64_t i = 0; i < warm_up; ++i) work();
  std::vector<double> seconds;
  for (int64_t i = 0; i < repeats; ++i) seconds.push_back(time_once(device, work));
  return summarize(std::move(seconds));
}

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

MemoryMonitor::MemoryMonitor(const c10::Device& device)
    : reporter_(std::make_shared<Reporter>(device)),
      installed_(std::make_unique<c10::DebugInfoGuard>(c10::DebugInfoKind::PROFILER_STATE, reporter_)) {}

MemoryMonitor::~MemoryMonitor() = default;

int64_t MemoryMonitor::held() const { return reporter_->held(); }

int64_t MemoryMonitor::peak() const { return reporter_->peak(); }

}  // namespace tenon::profiling
