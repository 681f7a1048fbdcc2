// host data: shows the samples of a dataset and times its loader.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Prints the fields and the first batch of one dataset of the run file. Reads the dataset for line.seconds without a
// model and prints the throughput and the times of the loader. Writes a page with samples if line.file is set. Returns
// the exit code.
int show_data(const CommandLine& line);

}  // namespace tenon::host
