// `host predict`: writes the outputs of a trained model for each sample of a dataset to a file.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Returns the exit code: 0, or 128 + n after signal n. After a signal no file is written. Throws support::Error.
int predict(const CommandLine& line);

}  // namespace tenon::host
