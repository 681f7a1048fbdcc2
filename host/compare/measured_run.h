// Measurements of a run that has ended, read from its run folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "host/process/child_run.h"

namespace tenon::host {

struct MeasuredRun {
  int64_t seed = 0;
  std::filesystem::path folder;  // empty: the run failed before it created one
  std::string failure;           // empty: the run did not fail
  int exit_code = 0;             // 128 + n after signal n
  int64_t steps = 0;
  double epochs = 0;                         // epochs of the training data, computed from the steps
  double samples = 0;                        // training samples
  double seconds = 0;                        // from the first step to the end, with validation and checkpoints
  int64_t peak_bytes = 0;                    // peak memory of the process, or of rank 0 of several
  std::optional<double> device_peak_mib;     // peak memory of a CUDA device
  std::optional<int64_t> best_step;          // best step of the monitored metric, if there is one
  artifacts::MetricValues metrics;           // validation metrics of the best step, else the last ones
  std::optional<double> last_training_loss;  // of the last epoch, or of the last log line
};

// The size of an epoch.
struct EpochSize {
  int64_t samples;
  int64_t steps;
};

// A failed run is measured up to its failure. `folder`: empty if the run has none.
MeasuredRun measure_run(const ChildEnd& end, const std::filesystem::path& folder, const EpochSize& epoch);

}  // namespace tenon::host
