#include "host/training/profiled_run.h"

#include <ATen/Parallel.h>

#include <array>
#include <cstdio>

#include "framework/support/text/format_values.h"

namespace tenon::host {

void prepare_profile(config::RunPlan& plan, int64_t batch_size) {
  if (batch_size > 0) plan.data.batch_size = batch_size;
  plan.data.drop_last = false;
  plan.data.validation.clear();
  plan.data.test.clear();
  plan.callbacks.clear();
  plan.data.scheduled_train.clear();
  plan.metrics.clear();
  plan.checkpoint.monitor.clear();
  plan.train.accumulate = 1;
  plan.train.average.reset();
  plan.schedule = {};
}

std::string describe_device(const support::ComputeDevice& device) {
  return device.is_cuda() ? device.name : "the CPU, " + support::format_count(at::get_num_threads(), "thread");
}

std::string format_scaled(double number) {
  constexpr std::array kUnits{"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  for (; number >= 1000 && unit + 1 < kUnits.size(); ++unit) number /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f%s" : "%.4g%s", number, kUnits[unit]);
  return text;
}

std::string format_time(double seconds) {
  char text[32];
  if (seconds >= 1)
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  else
    std::snprintf(text, sizeof text, seconds < 0.01 ? "%.3f ms" : "%.1f ms", seconds * 1e3);
  return text;
}

}  // namespace tenon::host
