// The sections at the end of a report: where the time went, how to repeat the run, its configuration, model and
// machine.
#pragma once

#include <string>

#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

// Returns HTML.
std::string format_details(const ReadRun& run);

}  // namespace tenon::reporting
