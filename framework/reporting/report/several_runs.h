// The page about several runs side by side.
#pragma once

#include <string>
#include <vector>

#include "framework/reporting/report/run_labels.h"
#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

// "4 runs", or "2 variants, 4 runs".
std::string count_runs(const std::vector<RunLabel>& labels);

// Returns HTML: a table of the runs, means and deviations over repeated ones, the values of the plans that differ,
// `charts`, and the findings of each run. REQUIRES: two runs or more, with one label for each.
std::string format_several_runs(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels,
                                const std::string& charts);

}  // namespace tenon::reporting
