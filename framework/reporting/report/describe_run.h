// The facts about a run that its report and a comparison show.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/hyperparameters.h"
#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

std::string name_of(const ReadRun& run);          // run.name: "digits"
std::string describe_time(const ReadRun& run);    // its start, or its folder if the time is not known
std::string describe_place(const ReadRun& run);   // "3 of 10 epochs, 69 of 230 steps"
std::string describe_length(const ReadRun& run);  // "3 of 10 epochs", or steps if the run is counted in them
std::string describe_device(const ReadRun& run);  // "cpu, 2 processes"; an accelerator is named
std::string describe_best(const ReadRun& run);    // "0.0268 at step 184" for the monitored metric; empty: none
std::string describe_last(const ReadRun& run, const std::string& metric);
std::string format_state(const ReadRun& run);  // HTML

// Returns "2026-11-21 11:30:05" for "2026-11-21T11:30:05+01:00", a time of the machine that trained. Returns another
// text unchanged.
std::string format_local_time(const std::string& iso);

// What distinguishes a run of a comparison.
struct RunLabel {
  std::string variant;     // the values of the plan that differ: "lr=0.1, hidden=[8]"; or a name
  std::string repetition;  // "seed=1", "seed=1, fold=2"; empty if the runs of the variant differ in nothing
  size_t number;           // of the variant, from 0 in the order of the runs

  std::string text() const { return repetition.empty() ? variant : variant + ", " + repetition; }
};

// The values of the plans.
std::vector<artifacts::Hyperparameters> read_values(const std::vector<ReadRun>& runs);

// Whether runs with other values of the key repeat a variant: it is a seed or the number of a fold.
bool is_repetition(const std::string& key);

// One label for each run, all different. `variants`: the names of the variants that the runs belong to, or empty.
// Without them, and if the plans differ in more than three values or in none, the variants are the names of the runs.
std::vector<RunLabel> label_runs(const std::vector<ReadRun>& runs, const std::vector<std::string>& variants = {});

// Returns the mean and, for several values, the sample standard deviation: "0.981 ± 0.004".
std::string format_spread(const std::vector<double>& values);

double mean_of(const std::vector<double>& values);

// The values of a metric in the runs of a variant.
struct VariantValues {
  std::string variant;
  std::vector<double> values;
};

// Names the variant with the best mean and its distance to the next one, and says whether that is more than twice the
// standard error of the difference: "best validation/accuracy: lr=0.1, 0.981, 0.012 better than lr=0.01; ...". With
// fewer than three runs of one of the two, it only says that it may be chance. Ignores values that are not finite. ""
// if fewer than two variants have values.
std::string describe_best_variant(const std::string& metric, bool is_larger_better,
                                  std::vector<VariantValues> variants);

}  // namespace tenon::reporting
