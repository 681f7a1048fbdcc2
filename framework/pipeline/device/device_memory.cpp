#include "framework/pipeline/device/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>

namespace tenon::pipeline {

namespace {

double peak_mib(const c10::CachingDeviceAllocator::StatArray& statistic) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  return static_cast<double>(statistic[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak) /
         kMebibyte;
}

std::atomic<int64_t> waits{0};

}  // namespace

std::optional<PeakMemory> peak_memory(const c10::Device& device) {
  if (device.is_cpu()) return std::nullopt;
  const auto statistics = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  return PeakMemory{peak_mib(statistics.allocated_bytes), peak_mib(statistics.reserved_bytes)};
}

void reset_peak_memory(const c10::Device& device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

std::optional<int64_t> free_memory(const c10::Device& device) {
  if (device.is_cpu()) return std::nullopt;
  return static_cast<int64_t>(c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).first);
}

class CountWaits::Handler final : public c10::WarningHandler {
 public:
  Handler() : before_(c10::WarningUtils::get_warning_handler()) { c10::WarningUtils::set_warning_handler(this); }
  ~Handler() override { c10::WarningUtils::set_warning_handler(before_); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  void process(const c10::Warning& warning) override {
    if (warning.msg().find("synchronizing CUDA operation") != std::string::npos)
      ++waits;
    else
      before_->process(warning);
  }

 private:
  c10::WarningHandler* before_;
};

CountWaits::CountWaits() : handler_(std::make_unique<Handler>()) {}
CountWaits::~CountWaits() = default;

int64_t CountWaits::total() { return waits; }

}  // namespace tenon::pipeline
