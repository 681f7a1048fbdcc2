// host data: what a dataset of a run gives, and how fast.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Prints the fields and the first batch of one dataset of the run file, reads it for the time asked for with nothing
// else going on, and prints the rate and where the time went; writes a contact sheet if asked to. Returns the exit
// code.
int show_data(const CommandLine& line);

}  // namespace tenon::host
