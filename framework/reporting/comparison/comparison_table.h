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

// Prints a table for the terminal. Columns that do not fit into `width` are left out, see TextTable::format_within().
std::string format_table(const std::vector<ComparedVariant>& variants, size_t width = 0, bool has_colours = false);
// Prints a Markdown table, followed by the failures.
std::string format_markdown(const std::vector<ComparedVariant>& variants);
// Prints all measured values.
std::string format_json(const std::vector<ComparedVariant>& variants);

}  // namespace tenon::reporting
