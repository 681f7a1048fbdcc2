// `host profile`: measures the parameters, operations, memory and time of a model.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

int profile(const CommandLine& line);

}  // namespace tenon::host
