// LibTorch's settings of the process or the thread.
#pragma once

#include <string>

namespace tenon::validation {

// Describes grad mode, inference mode, autocast, the number of threads, the default dtype and determinism.
std::string read_torch_modes();

}  // namespace tenon::validation
