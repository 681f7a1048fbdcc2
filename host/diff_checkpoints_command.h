// `host checkpoint diff A B`: which tensors of two checkpoints or files are not the same, and by how much.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

inline constexpr int kTensorsDiffer = 9;  // exit code

// Prints, and returns 0 if both have the same tensors, bit for bit, and kTensorsDiffer otherwise. Of two checkpoints
// all safetensors files are compared; of a checkpoint and a file the weights. Throws Error(checkpoint).
int diff_checkpoints(const CommandLine& line);

}  // namespace tenon::host
