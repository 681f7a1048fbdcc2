// Labels for the runs of a comparison: what distinguishes them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

struct RunLabel {
  std::string variant;     // the values of the plan that differ: "lr=0.1, hidden=[8]"; or a name
  std::string repetition;  // "seed=1", "seed=1, fold=2"; empty if the runs of the variant differ in nothing
  size_t number;           // of the variant, from 0 in the order of the runs

  std::string text() const { return repetition.empty() ? variant : variant + ", " + repetition; }
};

// Whether runs with other values of the key repeat a variant: it is a seed or the number of a fold.
bool is_repetition(const std::string& key);

// One label for each run, all different. `variants`: the names of the variants that the runs belong to, or empty.
// Without them, and if the plans differ in more than three values or in none, the variants are the names of the runs.
std::vector<RunLabel> label_runs(const std::vector<ReadRun>& runs, const std::vector<std::string>& variants = {});

}  // namespace tenon::reporting
