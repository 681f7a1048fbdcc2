// How a run is done again, and what can be done with what it left, as lines for a shell.
#pragma once

#include <string>

#include "host/read_run.h"

namespace tenon::host {

std::string describe_run_again(const ReadRun& run);

}  // namespace tenon::host
