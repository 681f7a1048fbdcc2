// Whether this process is a run, one of the processes of a run, or starts those.
#pragma once

#include <optional>

#include "framework/distributed/world.h"
#include "host/command_line.h"

namespace tenon::host {

// Starts the processes where training is to have several (distributed.processes) and nobody else has started them, and
// returns the exit code of the run when all have ended. Nothing where this process is to train: alone, or as a rank.
// Throws Error(configuration) for a wrong environment, or for --processes where another launcher was at work.
std::optional<int> launch(const CommandLine& line, const distributed::World& world);

// Throws Error(configuration) where this is one of several processes: a command that is no training would do the same
// in each, and write the same files.
void require_one_process(const std::string& command, const distributed::World& world);

}  // namespace tenon::host
