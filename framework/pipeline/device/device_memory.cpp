#include "framework/pipeline/device/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace tenon::pipeline {

namespace {

double peak_mib(const c10::CachingDeviceAllocator::StatArray& statistic) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  return static_cast<double>(statistic[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak) /
         kMebibyte;
}

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

}  // namespace tenon::pipeline
