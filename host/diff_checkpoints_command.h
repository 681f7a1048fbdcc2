// `host checkpoint diff A B`: compares the tensors of two checkpoints or files.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

inline constexpr int kTensorsDiffer = 9;  // exit code

// Prints the differences. Returns 0 if all tensors are equal bit for bit, and kTensorsDiffer otherwise. For two
// checkpoints it compares all safetensors files, for a checkpoint and a file the weights. Throws Error(checkpoint).
int diff_checkpoints(const CommandLine& line);

}  // namespace tenon::host
