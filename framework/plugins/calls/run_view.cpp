#include "framework/plugins/calls/run_view.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "framework/plugins/calls/host_table.h"

namespace tenon::plugins {

namespace {

static_assert(std::is_standard_layout_v<RunView> && offsetof(RunView, base) == 0,
              "of() casts the address of base to RunView");

tenon_status read(const tenon_run* run, tenon_progress* out) {
  if (!run || !out || out->size < sizeof out->size)
    return fail(TENON_INVALID_ARGUMENT, "run-progress: a null run or result, or a result without its size set");
  const RunView& view = RunView::of(run);
  const tenon_progress progress{out->size, view.total_epochs, view.step_in_epoch, view.samples_in_epoch};
  std::memcpy(out, &progress, std::min<uint64_t>(out->size, sizeof progress));
  return TENON_OK;
}

constexpr tenon_run_progress kRunProgress{sizeof(tenon_run_progress), read};

tenon_status direction(const tenon_run* run, tenon_string name, int32_t* out) {
  if (!run || !out) return fail(TENON_INVALID_ARGUMENT, "run-metrics: a null run or result");
  const RunView& view = RunView::of(run);
  return view.direction ? view.direction(run, name, out)
                        : fail(TENON_NOT_FOUND, "run-metrics: this run has no metrics");
}

constexpr tenon_run_metrics kRunMetrics{sizeof(tenon_run_metrics), direction};

}  // namespace

const tenon_run_progress& run_progress_extension() { return kRunProgress; }
const tenon_run_metrics& run_metrics_extension() { return kRunMetrics; }

}  // namespace tenon::plugins
