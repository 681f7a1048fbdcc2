// `host --config run.toml`: from the run file to the trained weights.
#pragma once

#include "framework/distributed/world.h"
#include "host/command_line.h"

namespace tenon::host {

// `world`: this process's place among those of the run. Returns the exit code of a run that ended in order: 0, or 128 +
// n after signal n. Throws support::Error otherwise, after run.json has it.
int run(const CommandLine& line, const distributed::World& world);

}  // namespace tenon::host
