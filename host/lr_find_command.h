// host lr-find: at which learning rates a run's loss falls.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Makes steps with growing learning rates, prints the losses and a suggestion. Leaves no files. Returns the exit code.
int find_learning_rate(const CommandLine& line);

}  // namespace tenon::host
