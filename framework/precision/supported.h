// The precisions that each device supports.
#pragma once

#include <string>

#include "framework/config/plan/run_plan.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::precision {

// Throws Error(configuration) at `place` if the device does not support the precision, naming the supported ones.
void require_supported(config::Precision precision, const support::ComputeDevice& device, const std::string& place);

// Sets process-wide whether float32 matrix products and convolutions on CUDA devices use TensorFloat-32. PyTorch
// enables it for convolutions by default; here "fp32" always means float32.
void set_tensor_float_32(config::Precision precision);

}  // namespace tenon::precision
