#include "framework/profiling/latency.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
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

}  // namespace tenon::profiling
