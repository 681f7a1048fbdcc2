// report.html: what a run was and what came of it, on one page that needs nothing else; or several runs side by side.
#pragma once

#include <string>
#include <vector>

#include "host/read_run.h"

namespace tenon::host {

// HTML with style and curves in it, no script and no reference to anything outside; in light and dark, on wide and on
// narrow screens. REQUIRES: at least one run.
std::string make_report_page(const std::vector<ReadRun>& runs);

// Writes the page of a run whose files are all there, as report.html into its folder, and its curves into plots/, also
// as PNG where that is asked for.
// Throws Error as reading the run and writing files do.
void write_report(const std::filesystem::path& run, bool has_png_plots);

}  // namespace tenon::host
