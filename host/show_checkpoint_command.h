// `host checkpoint show PATH`: the manifest and every tensor of a checkpoint, or those of a safetensors file.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Prints, and returns 0. The digests are not looked at, so that a damaged checkpoint can be shown as far as it can be
// read. Throws Error(checkpoint).
int show_checkpoint(const CommandLine& line);

}  // namespace tenon::host
