// A table of runs: one row for each variant, aggregated over its seeds.
#pragma once

#include <string>
#include <vector>

#include "framework/reporting/comparison/measured_run.h"
#include "framework/reporting/comparison/variant.h"

namespace tenon::reporting {

struct ComparedVariant {
  Variant variant;
  std::string monitor;            // metric that selects the best weights; empty: none
  std::vector<MeasuredRun> runs;  // one for each seed that has run
};

// Prints the mean and, for several values, the sample standard deviation: "0.981 ± 0.004".
std::string print_spread(const std::vector<double>& values);

// Prints a table for the terminal.
std::string print_table(const std::vector<ComparedVariant>& variants);
// Prints a Markdown table, followed by the failures.
std::string print_markdown(const std::vector<ComparedVariant>& variants);
// Prints all measured values.
std::string print_json(const std::vector<ComparedVariant>& variants);

}  // namespace tenon::reporting
