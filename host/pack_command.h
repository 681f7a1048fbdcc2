// `host pack`: writes a dataset as tar shards.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Writes a dataset of the run file as tar shards. Returns the exit code: 0, or 128 + n after signal n.
int pack(const CommandLine& line);

}  // namespace tenon::host
