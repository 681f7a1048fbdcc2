// Statistics of repeated time measurements.
#pragma once

#include <functional>
#include <vector>

#include <c10/core/Device.h>

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

}  // namespace tenon::profiling
