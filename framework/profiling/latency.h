// How long something takes, several times over.
#pragma once

#include <functional>
#include <vector>

#include <c10/core/Device.h>

namespace tenon::profiling {

// In seconds.
struct Latency {
  double median = 0;
  double tenth = 0;      // percentile
  double ninetieth = 0;  // percentile
  double least = 0;
};

// Of the given times, by nearest rank. REQUIRES: there are some.
Latency summarize(std::vector<double> seconds);

// Runs `work` `warm_up` times, then `repeats` times (at least 1), and waits for the device before and after each.
Latency time_repeated(const c10::Device& device, int64_t warm_up, int64_t repeats, const std::function<void()>& work);

}  // namespace tenon::profiling
