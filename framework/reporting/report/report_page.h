// report.html: one self-contained page about a run, or about several runs side by side.
#pragma once

#include <string>
#include <vector>

#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

// Returns HTML with embedded style and curves, without external references. It supports light and dark
// mode, wide and narrow screens. `variants`: see label_runs(). REQUIRES: at least one run.
std::string make_report_page(const std::vector<ReadRun>& runs, const std::vector<std::string>& variants = {});

// Writes report.html into the folder of a run, and its curves into plots/. All files of the run must exist. Throws
// Error as reading the run and writing files do.
void write_report(const std::filesystem::path& run);

}  // namespace tenon::reporting
