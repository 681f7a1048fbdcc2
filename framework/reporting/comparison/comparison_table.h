// Measures runs that have ended, and compares them in a table with a row for each variant, aggregated over its seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"

namespace tenon::reporting {

// A variant of `host compare`: a run file with overrides.

struct Variant {
  std::string name;  // unique among the variants: "precision=bf16", "resnet, lr=0.1"
  std::filesystem::path config;
  std::vector<std::string> overrides;  // "key=value"; they take precedence over those of the command line
};

// Measurements of a run that has ended, read from its run folder.

struct MeasuredRun {
  int64_t seed = 0;
  std::optional<int64_t> fold;   // the one that is validated on; none: the run has no folds
  std::filesystem::path folder;  // empty: the run failed before it created one
  std::string failure;           // empty: the run did not fail
  int exit_code = 0;             // 128 + n after signal n
  int64_t steps = 0;
  double epochs = 0;                      // epochs of the training data, computed from the steps
  double samples = 0;                     // training samples
  double seconds = 0;                     // from the first step to the end, with validation and checkpoints
  int64_t peak_bytes = 0;                 // peak memory of the process, or of rank 0 of several
  std::optional<double> device_peak_mib;  // peak memory of a CUDA device
  std::optional<int64_t> best_step;       // best step of the monitored metric, if there is one
  bool is_larger_better = false;          // the monitored metric
  artifacts::NamedMetrics metrics;        // of the best validation, else the last one, and of the test data
  std::optional<double> train_loss = {};  // the last one up to the best step, else to the end
};

// The size of an epoch.
struct EpochSize {
  int64_t samples;
  int64_t steps;
};

// A failed run is measured up to its failure. `exit_code`: 128 + n after signal n. `errors`: the end of its standard
// error. `folder`: empty if the run has none.
MeasuredRun measure_run(int exit_code, const std::string& errors, const std::filesystem::path& folder,
                        const EpochSize& epoch);

struct ComparedVariant {
  Variant variant;
  std::string monitor;            // metric that selects the best weights; empty: none
  std::vector<MeasuredRun> runs;  // one for each seed that has run
};

// Prints a table for the terminal. Columns that do not fit into `width` are left out, see TextTable::format_within().
std::string format_table(const std::vector<ComparedVariant>& variants, size_t width = 0, bool has_colours = false);
// Prints a Markdown table, followed by the failures.
std::string format_markdown(const std::vector<ComparedVariant>& variants);
// Prints all measured values.
std::string format_json(const std::vector<ComparedVariant>& variants);

}  // namespace tenon::reporting
