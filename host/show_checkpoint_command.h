// `host checkpoint show PATH`: prints the manifest and the tensors of a checkpoint, or the tensors of a safetensors
// file.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Returns 0. Does not verify the digests, so that the readable parts of a damaged checkpoint are shown. Throws
// Error(checkpoint).
int show_checkpoint(const CommandLine& line);

}  // namespace tenon::host
