// The page about several runs side by side.
#pragma once

#include <string>
#include <vector>

#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

// Returns HTML: a table of the runs, means and deviations over repeated ones, the values of the plans that differ,
// `charts`, and the findings of each run. REQUIRES: two runs or more.
std::string print_several_runs(const std::vector<ReadRun>& runs, const std::string& charts);

}  // namespace tenon::reporting
