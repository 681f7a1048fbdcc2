// `host predict`: what a trained model gives for each sample of a dataset, in a file.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Returns the exit code: 0, or 128 + n after signal n, and then leaves no file. Throws support::Error.
int predict(const CommandLine& line);

}  // namespace tenon::host
