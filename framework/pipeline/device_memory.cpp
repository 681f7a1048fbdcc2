#include "framework/pipeline/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace tenon::pipeline {

std::optional<double> peak_memory_mib(const c10::Device& device) {
  if (device.is_cpu()) return std::nullopt;
  constexpr double kMebibyte = 1024.0 * 1024.0;
  const auto statistics = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  const auto& allocated = statistics.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  return static_cast<double>(allocated.peak) / kMebibyte;
}

}  // namespace tenon::pipeline
