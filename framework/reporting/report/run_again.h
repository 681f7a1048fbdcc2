// Shell commands that repeat, resume or evaluate a run.
#pragma once

#include <string>

#include "framework/reporting/runs/read_run.h"

namespace tenon::reporting {

std::string describe_run_again(const ReadRun& run);

}  // namespace tenon::reporting
