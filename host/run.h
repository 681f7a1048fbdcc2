// `host --config run.toml`: trains the model of a run file.
#pragma once

#include "framework/distributed/world.h"
#include "host/command_line.h"

namespace tenon::host {

// `world`: rank and size of the run. Returns 0, or 128 + n after signal n. Otherwise throws support::Error, after the
// error was written to run.json.
int run(const CommandLine& line, const distributed::World& world);

}  // namespace tenon::host
