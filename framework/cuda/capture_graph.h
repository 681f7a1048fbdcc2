// CUDA graphs through LibTorch. It has a separate file because its headers need CUDA.
#pragma once

#include <memory>

#include "framework/support/compute/compute_device.h"

namespace tenon::cuda {

// For the device of use().
std::unique_ptr<support::DeviceGraph> make_graph();

}  // namespace tenon::cuda
