// `host checkpoint verify PATH`: is a checkpoint what was written?
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Compares a checkpoint, or each one of a run, with its digests, and reads a safetensors file as a run would. Returns 0
// if all is whole; otherwise prints what is and throws Error(checkpoint) naming the damaged file and the checkpoint to
// use in its place.
int verify_checkpoints(const CommandLine& line);

}  // namespace tenon::host
