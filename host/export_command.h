// `host export`: exports trained weights, or the model with its weights, for Python.
#pragma once

#include "host/command_line.h"

namespace tenon::host {

// Writes --output: weights for .safetensors, TorchScript for .pt. Returns 0. Throws Error as open_run, find_weights,
// load_weights and trace_model do.
int export_weights(const CommandLine& line);

}  // namespace tenon::host
