// Runs side by side: a row for each variant, over its seeds.
#pragma once

#include <string>
#include <vector>

#include "host/compare/measured_run.h"
#include "host/compare/variants.h"

namespace tenon::host {

struct ComparedVariant {
  Variant variant;
  std::string monitor;            // the figure by which it keeps its best weights; empty: none
  std::vector<MeasuredRun> runs;  // one for each seed, as far as they were run
};

// The mean, and behind it the sample's standard deviation where there are several values: "0.981 ± 0.004".
std::string print_spread(const std::vector<double>& values);

// For the terminal.
std::string print_table(const std::vector<ComparedVariant>& variants);
// A table of Markdown, and below it what failed.
std::string print_markdown(const std::vector<ComparedVariant>& variants);
// All that was measured.
std::string print_json(const std::vector<ComparedVariant>& variants);

}  // namespace tenon::host
