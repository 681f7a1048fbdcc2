// Likely reasons why a resumed run differs from an uninterrupted one.
#pragma once

#include <string>
#include <vector>

#include "host/training/open_run.h"
#include "host/verify_resume/resume_report.h"

namespace tenon::host {

// Returns one sentence per reason, the most likely first. Empty if the runs are identical.
std::vector<std::string> find_reasons(const ResumeReport& report, const OpenedRun& opened);

}  // namespace tenon::host
