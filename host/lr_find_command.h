// host lr-find: finds the learning rates at which the loss falls.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Runs steps with increasing learning rates. Prints the losses and a suggestion. Writes no files. Returns the exit
// code.
int find_learning_rate(const CommandLine& line);

}  // namespace tenon::host
