// Metric directions for callbacks in C++:
//
//   void on_run_setup(const tenon::Run& run) { sign_ = tenon::metric_direction(run, "validation/accuracy"); }
#pragma once

#include <cstdint>
#include <string_view>

#include "callback.hpp"
#include "detail/extension.hpp"
#include "run_metrics.h"

namespace tenon {

// Returns 1 if higher is better, -1 if lower is better, and 0 if neither or unknown, as for values that callbacks add.
// Returns 0 for every metric if the host is too old for this extension. Throws like Run::metric() if there is no metric
// of that name.
inline int metric_direction(const Run& run, std::string_view name) {
  const auto* const table = detail::find_extension<tenon_run_metrics>(TENON_RUN_METRICS);
  int32_t direction = 0;
  if (table) detail::check(table->direction(run.get(), detail::borrow(name), &direction));
  return direction;
}

}  // namespace tenon
