// `host checkpoint verify PATH`: checks a checkpoint for damage.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Compares a checkpoint, or all checkpoints of a run, with the stored digests, and reads the safetensors files as a run
// does. Prints the state of each file. Returns 0 if all files are intact. Otherwise throws Error(checkpoint) with the
// damaged file and the checkpoint to use instead.
int verify_checkpoints(const CommandLine& line);

}  // namespace tenon::host
