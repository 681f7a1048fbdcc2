// What LibTorch keeps for the process or the thread.
#pragma once

#include <string>

namespace tenon::validation {

// Gradients, inference, autocast, threads, the dtype of new tensors, determinism.
std::string read_torch_modes();

}  // namespace tenon::validation
