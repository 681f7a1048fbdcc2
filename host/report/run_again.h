// Shell commands that repeat, resume or evaluate a run.
#pragma once

#include <string>

#include "host/runs/read_run.h"

namespace tenon::host {

std::string describe_run_again(const ReadRun& run);

}  // namespace tenon::host
