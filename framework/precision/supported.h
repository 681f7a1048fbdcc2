// Which precisions a device has.
#pragma once

#include <string>

#include "framework/config/run_plan.h"
#include "framework/support/compute_device.h"

namespace tenon::precision {

// Throws Error(configuration) at `place` for a precision that the device lacks, naming those it has.
void require_supported(config::Precision precision, const support::ComputeDevice& device, const std::string& place);

// Whether matrix products and convolutions of float32 on CUDA devices are computed in TensorFloat-32: process-wide.
// PyTorch lets convolutions be by default; here "fp32" is float32 throughout.
void set_tensor_float_32(config::Precision precision);

}  // namespace tenon::precision
