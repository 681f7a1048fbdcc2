// A tenon_run of the host, followed by the data for the extensions for callbacks.
#pragma once

#include <cstdint>

#include <tenon/callback.h>
#include <tenon/run_metrics.h>
#include <tenon/run_progress.h>

#include "framework/plugins/calls/trained_tensors.h"

namespace tenon::plugins {

// Every tenon_run that a plugin gets is the first member of a RunView.
struct RunView {
  tenon_run base{};
  int64_t total_epochs = 0;
  int64_t step_in_epoch = 0;
  int64_t samples_in_epoch = 0;
  const TrainedTensors* tensors = nullptr;  // null: nothing is trained
  // The implementation of tenon_run_metrics.direction; null: no metric is known.
  tenon_status (*direction)(const tenon_run* run, tenon_string name, int32_t* direction) = nullptr;

  // Returns the RunView with this base.
  static const RunView& of(const tenon_run* base) { return *reinterpret_cast<const RunView*>(base); }
};

// The host's side of TENON_RUN_PROGRESS and TENON_RUN_METRICS.
const tenon_run_progress& run_progress_extension();
const tenon_run_metrics& run_metrics_extension();

}  // namespace tenon::plugins
