// `host profile`: what the model of a run file costs, in parameters, operations, memory and time.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

int profile(const CommandLine& line);

}  // namespace tenon::host
