// What a run that has ended was like, from what it left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/figures.h"
#include "host/child_run.h"

namespace tenon::host {

struct MeasuredRun {
  int64_t seed = 0;
  std::filesystem::path folder;  // empty: it failed before it had one
  std::string failure;           // empty: it did not
  int exit_code = 0;             // 128 + n after signal n
  int64_t steps = 0;
  double epochs = 0;                         // of the training data, by its steps
  double samples = 0;                        // that it was trained on
  double seconds = 0;                        // from its first step to its end, with validation and checkpoints
  int64_t peak_bytes = 0;                    // of memory, of the run's process, or the first of several
  std::optional<double> device_peak_mib;     // of a CUDA device
  std::optional<int64_t> best_step;          // of the monitored figure, if one is
  artifacts::Figures figures;                // of validations: those of the best step, else the last ones
  std::optional<double> last_training_loss;  // of an epoch, or of the last log line
};

// What an epoch of a run has.
struct EpochSize {
  int64_t samples;
  int64_t steps;
};

// A run that failed is measured as far as it came. `folder` is empty where it had none.
MeasuredRun measure_run(const ChildEnd& end, const std::filesystem::path& folder, const EpochSize& epoch);

}  // namespace tenon::host
