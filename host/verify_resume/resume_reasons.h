// Why a run that is resumed may end with other bits.
#pragma once

#include <string>
#include <vector>

#include "host/open_run.h"
#include "host/verify_resume/resume_verdict.h"

namespace tenon::host {

// A sentence each, the likeliest first; nothing where the runs are the same.
std::vector<std::string> find_reasons(const ResumeVerdict& verdict, const OpenedRun& opened);

}  // namespace tenon::host
